import editor from './editor/index';
import panel from './panel/index';

export default [editor, panel];
