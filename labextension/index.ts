import editor from './editor/index';
import outputs from './outputs/index';
import panel from './panel/index';

export default [editor, outputs, panel];
