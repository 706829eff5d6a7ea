import { LabIcon } from '@jupyterlab/ui-components';

/** Three tables, the last of which is made of the two before. */
const SVG = `<svg xmlns="http://www.w3.org/2000/svg" width="16" height="16" viewBox="0 0 24 24">
  <g class="jp-icon3" fill="#616161">
    <path d="M3 3h7a1 1 0 0 1 1 1v4a1 1 0 0 1-1 1H7.5v2.2h9V9H14a1 1 0 0 1-1-1V4a1 1 0 0 1 1-1h7a1 1 0 0 1
      1 1v4a1 1 0 0 1-1 1h-2.7v3a1 1 0 0 1-1 1h-4.4v2H16a1 1 0 0 1 1 1v4a1 1 0 0 1-1 1H8a1 1 0 0 1-1-1v-4a1
      1 0 0 1 1-1h3.1v-2H6.7a1 1 0 0 1-1-1V9H3a1 1 0 0 1-1-1V4a1 1 0 0 1 1-1zm.8 1.8v2.4h5.4V4.8zm11 0v2.4h5.4V4.8zm-6
      12v2.4h6.4v-2.4z"/>
  </g>
</svg>`;

export const panelIcon = new LabIcon({ name: 'dt-jupyter:panel', svgstr: SVG });
