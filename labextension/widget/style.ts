/** The places of views in a cell's output. */
export const STYLE = `
.dtj.dtjw{padding:2px 0}
.dtj.dtjw-graph>.dtjp-place{height:440px;min-height:280px;max-height:90vh;overflow:hidden;resize:vertical;
 border:1px solid var(--dtj-line);border-radius:8px}
.dtj.dtjw [hidden]{display:none!important}
`;
