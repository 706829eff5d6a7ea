/** How a graph looks. Sizes are in pixels of its own world; `data-detail` says from how far it is seen. */
export const STYLE = `
.dtj.dtj-dag{position:relative;display:flex;flex-direction:column;height:100%;min-height:280px;min-width:0;
 background:var(--dtj-page);container-type:inline-size}
.dtj-dag .dtj-dag-top,.dtj-dag .dtj-dag-foot{padding:6px 8px;background:var(--dtj-card);flex:none}
.dtj-dag .dtj-dag-top{border-bottom:1px solid var(--dtj-grid)}
.dtj-dag .dtj-dag-foot{border-top:1px solid var(--dtj-grid);min-height:34px;gap:4px 6px}
.dtj-dag .dtj-search{position:relative;flex:1 1 150px;min-width:110px;max-width:320px}
.dtj-dag .dtj-search .dtj-input{width:100%;padding-right:52px}
.dtj-dag .dtj-search output{position:absolute;right:8px;top:0;line-height:26px;font-size:11px;color:var(--dtj-soft);
 pointer-events:none;font-variant-numeric:tabular-nums}
.dtj-dag kbd{font:11px/1 var(--dtj-mono);border:1px solid var(--dtj-line);border-radius:4px;padding:1px 4px;
 color:var(--dtj-soft)}
.dtj-dag .dtj-chip{appearance:none;display:inline-flex;align-items:center;gap:5px;border:1px solid transparent;
 border-radius:11px;background:transparent;color:var(--dtj-soft);font:inherit;font-size:11px;line-height:18px;
 padding:1px 7px 1px 4px;cursor:pointer;white-space:nowrap}
.dtj-dag .dtj-chip:hover{border-color:var(--dtj-line)}
.dtj-dag .dtj-chip[aria-pressed="true"]{border-color:var(--dtj-incremental);color:var(--dtj-ink)}
.dtj-dag .dtj-chip b{color:var(--dtj-ink);font-variant-numeric:tabular-nums}
.dtj-dag .dtj-icon{flex:none}
.dtj-dag .dtj-view{position:relative;flex:1 1 auto;min-height:0;overflow:clip;touch-action:none;cursor:grab;
 user-select:none;outline-offset:-2px;contain:strict}
.dtj-dag .dtj-dots{position:absolute;inset:-20px;will-change:transform;
 background:radial-gradient(circle,color-mix(in srgb,var(--dtj-grid) 70%,transparent) 1px,transparent 1.2px) 0 0/20px 20px}
.dtj-dag .dtj-view.dtj-drags{cursor:grabbing}
.dtj-dag .dtj-world{position:absolute;left:0;top:0;width:0;height:0;transform-origin:0 0}
.dtj-dag .dtj-drags .dtj-world{will-change:transform}
.dtj-dag .dtj-glides .dtj-world{transition:transform .25s ease-out}
.dtj-dag .dtj-edges{position:absolute;left:0;top:0;overflow:visible;pointer-events:none;stroke-width:1.5px}
.dtj-dag .dtj-edge,.dtj-dag .dtj-flow{fill:none;stroke-linecap:round;stroke-linejoin:round}
.dtj-dag .dtj-edge{stroke:var(--dtj-edge)}
.dtj-dag .dtj-edge.dtj-runs{stroke:var(--dtj-run)}
.dtj-dag .dtj-edge.dtj-broken{stroke:var(--dtj-bad);stroke-dasharray:6 5}
.dtj-dag .dtj-edge.dtj-dim{opacity:.18}
.dtj-dag .dtj-edge.dtj-lit{stroke:var(--dtj-incremental);opacity:1;stroke-width:2.4px}
.dtj-dag .dtj-flow{stroke:var(--dtj-run);stroke-width:4px;stroke-dasharray:1 13;animation:dtj-flow .7s linear infinite}
.dtj-dag[data-detail="far"] .dtj-flow{display:none}
@keyframes dtj-flow{from{stroke-dashoffset:14}to{stroke-dashoffset:0}}

.dtj-dag .dtj-node{--tone:var(--dtj-line);position:absolute;border:1px solid var(--tone);border-radius:8px;
 background:var(--dtj-card);cursor:pointer;contain:layout style;
 box-shadow:0 1px 2px color-mix(in srgb,#000 9%,transparent)}
.dtj-dag .dtj-node:not([data-kind="dynamic_table"]){border-radius:5px;box-shadow:none;
 background:color-mix(in srgb,var(--dtj-zebra) 75%,var(--dtj-card))}
.dtj-dag .dtj-node[data-kind="stage"]{border-style:dashed}
.dtj-dag .dtj-node[data-kind="view"]{border-style:dashed}
.dtj-dag .dtj-node[data-suspended]{border-style:dashed;border-color:var(--dtj-soft)}
.dtj-dag .dtj-node[data-state="FAILED"],.dtj-dag .dtj-node[data-state="UPSTREAM_FAILED"]{--tone:var(--dtj-bad);
 background:color-mix(in srgb,var(--dtj-bad) 5%,var(--dtj-card))}
.dtj-dag .dtj-node[data-state="FAILED"]{border-width:1.6px}
.dtj-dag .dtj-node[data-state="EXECUTING"]{--tone:var(--dtj-run);border-width:1.6px;border-style:solid}
.dtj-dag .dtj-node:hover{box-shadow:0 2px 8px color-mix(in srgb,#000 20%,transparent)}
.dtj-dag .dtj-node[aria-selected="true"]{border-color:var(--dtj-incremental);border-style:solid;
 box-shadow:0 0 0 2px var(--dtj-incremental)}
.dtj-dag .dtj-node:focus-visible{outline:3px solid var(--dtj-incremental);outline-offset:3px}
.dtj-dag .dtj-node.dtj-dim{opacity:.22}
.dtj-dag .dtj-node.dtj-match{box-shadow:0 0 0 2px var(--dtj-warn)}
.dtj-dag .dtj-node.dtj-here{box-shadow:0 0 0 4px var(--dtj-warn)}

.dtj-dag .dtj-node-in{position:absolute;inset:0;overflow:hidden;border-radius:inherit;padding:9px 11px 0}
.dtj-dag .dtj-node-line{display:flex;align-items:center;gap:8px;min-width:0}
.dtj-dag .dtj-node-line>*{min-width:0}
.dtj-dag .dtj-node-sign,.dtj-dag .dtj-node-error{flex:none;display:flex}
.dtj-dag .dtj-node-error:empty{display:none}
.dtj-dag .dtj-node-name{flex:1 1 auto;font-weight:600;line-height:18px;text-align:left}
.dtj-dag .dtj-node-last{margin-top:5px;justify-content:space-between;font-size:10.5px}
.dtj-dag .dtj-node-mode{flex:0 1 auto;display:block;overflow:hidden;text-overflow:ellipsis;font-size:10.5px;line-height:15px;padding:0 7px;font-weight:500;
 color:var(--dtj-incremental)}
.dtj-dag .dtj-node-mode[data-mode="FULL"]{color:var(--dtj-full)}
.dtj-dag .dtj-node-outcome{flex:none;max-width:70%;display:flex;align-items:center;gap:5px;justify-content:flex-end}
.dtj-dag .dtj-node-outcome[data-strong]{font-weight:700}
.dtj-dag .dtj-node-outcome .dtj-icon{width:10px;height:10px}
.dtj-dag .dtj-node-time{margin-top:5px;justify-content:space-between;font-size:11px;line-height:15px;color:var(--dtj-soft);
 font-variant-numeric:tabular-nums}
.dtj-dag .dtj-node-lag{flex:1 1 auto}
.dtj-dag .dtj-node-lag[data-late]{color:var(--dtj-bad);font-weight:600}
.dtj-dag .dtj-node-rows{flex:none}
.dtj-dag .dtj-node-meter{margin-top:5px;height:4px}
.dtj-dag .dtj-node-meter>*{display:block}
.dtj-dag .dtj-node-progress{position:absolute;left:0;right:0;bottom:0;height:3px;display:none;overflow:hidden}
.dtj-dag .dtj-node[data-state="EXECUTING"] .dtj-node-progress{display:block;
 background:color-mix(in srgb,var(--dtj-run) 22%,transparent)}
.dtj-dag .dtj-node-progress>*{display:block;height:100%;width:30%;background:var(--dtj-run);
}
.dtj-dag .dtj-seen .dtj-node-progress>:not([data-known]){animation:dtj-seek 1.4s ease-in-out infinite alternate}
.dtj-dag .dtj-node-progress>[data-known]{transition:width .3s}
.dtj-dag .dtj-drags *{animation-play-state:paused!important}
@keyframes dtj-seek{from{transform:translateX(0)}to{transform:translateX(233%)}}
.dtj-dag .dtj-seen[data-state="EXECUTING"] .dtj-node-sign path{animation:dtj-turn 1.1s linear infinite}
@keyframes dtj-turn{to{transform:rotate(1turn)}}
.dtj-dag .dtj-node:not([data-kind="dynamic_table"]) .dtj-node-in{padding:6px 10px 0;display:grid;
 grid-template-columns:minmax(0,1fr) auto}
.dtj-dag .dtj-node:not([data-kind="dynamic_table"]) .dtj-node-head{grid-column:1/3}
.dtj-dag .dtj-node:not([data-kind="dynamic_table"]) .dtj-node-name{font-weight:500;line-height:16px}
.dtj-dag .dtj-node:not([data-kind="dynamic_table"]) .dtj-node-last{margin:0 0 0 24px;color:var(--dtj-soft)}
.dtj-dag .dtj-node:not([data-kind="dynamic_table"]) .dtj-node-time{margin:0;font-size:10.5px}
.dtj-dag .dtj-node:not([data-kind="dynamic_table"]) .dtj-node-meter{display:none}
.dtj-dag .dtj-node [hidden]{display:none}

.dtj-dag .dtj-node-stages{position:absolute;right:10px;bottom:-9px;display:inline-flex;align-items:center;gap:3px;
 border:1px solid var(--dtj-line);border-radius:9px;background:var(--dtj-card);color:var(--dtj-soft);
 font:10.5px/15px var(--dtj-sans);padding:0 7px;margin:0;cursor:pointer}
.dtj-dag .dtj-node-stages:hover{color:var(--dtj-ink);border-color:var(--dtj-soft)}
.dtj-dag .dtj-node-stages[data-worst="bad"]{color:var(--dtj-bad);border-color:var(--dtj-bad)}
.dtj-dag .dtj-node-stages[data-worst="run"]{color:var(--dtj-run);border-color:var(--dtj-run)}
.dtj-dag .dtj-node-columns{position:absolute;left:8px;max-width:calc(100% - 16px);bottom:-10px;border-radius:9px;
 background:var(--dtj-incremental);color:var(--dtj-mark);font:600 10.5px/17px var(--dtj-mono);padding:0 8px}

.dtj-dag[data-detail="middle"] .dtj-node-last,.dtj-dag[data-detail="middle"] .dtj-node-time,
.dtj-dag[data-detail="middle"] .dtj-node-meter{display:none}
.dtj-dag[data-detail="middle"] .dtj-node[data-kind] .dtj-node-in{display:flex;align-items:center;padding:0 10px}
.dtj-dag[data-detail="middle"] .dtj-node-head{flex:1 1 auto}
.dtj-dag[data-detail="middle"] .dtj-node[data-kind] .dtj-node-name{font-size:23px;line-height:29px;white-space:normal;
 overflow-wrap:anywhere;display:-webkit-box;-webkit-line-clamp:2;-webkit-box-orient:vertical}
.dtj-dag[data-detail="middle"] .dtj-node:not([data-kind="dynamic_table"]) .dtj-node-name{-webkit-line-clamp:1;font-size:20px}
.dtj-dag[data-detail="middle"][data-few="true"] .dtj-node[data-kind="dynamic_table"] .dtj-node-in{flex-direction:column;
 align-items:stretch;justify-content:center;gap:2px;padding:0 12px}
.dtj-dag[data-detail="middle"][data-few="true"] .dtj-node[data-kind="dynamic_table"] .dtj-node-head{flex:none}
.dtj-dag[data-detail="middle"][data-few="true"] .dtj-node[data-kind="dynamic_table"] .dtj-node-name{-webkit-line-clamp:1}
.dtj-dag[data-detail="middle"][data-few="true"] .dtj-node[data-kind="dynamic_table"] .dtj-node-time{display:flex;margin:0;
 font-size:18px;line-height:22px}
.dtj-dag[data-detail="middle"][data-few="true"] .dtj-node-rows{display:none}
.dtj-dag[data-detail="middle"][data-few="true"] .dtj-node[data-kind="dynamic_table"] .dtj-node-meter{display:block;height:8px;
 margin-top:2px}
.dtj-dag[data-detail="middle"] .dtj-node-sign .dtj-icon{width:26px;height:26px}
.dtj-dag[data-detail="middle"] .dtj-node-error .dtj-icon{width:24px;height:24px}
.dtj-dag[data-detail="middle"] .dtj-node-progress{height:7px}
.dtj-dag[data-detail="middle"] .dtj-node-columns{font-size:18px;line-height:26px;border-radius:13px;bottom:-14px}
.dtj-dag[data-detail="far"] .dtj-node-in,.dtj-dag[data-detail="far"] .dtj-node-stages,
.dtj-dag[data-detail="far"] .dtj-node-columns{display:none}
.dtj-dag[data-detail="far"] .dtj-node{box-shadow:none;border-width:4px;border-radius:14px}
.dtj-dag[data-detail="far"] .dtj-node[data-state="SUCCEEDED"]{--tone:var(--dtj-ok);
 background:color-mix(in srgb,var(--dtj-ok) 40%,var(--dtj-card))}
.dtj-dag[data-detail="far"] .dtj-node[data-state="FAILED"]{background:linear-gradient(45deg,transparent 46%,
 var(--dtj-card) 46% 54%,transparent 54%),linear-gradient(-45deg,transparent 44%,var(--dtj-card) 44% 56%,transparent 56%),
 var(--dtj-bad)}
.dtj-dag[data-detail="far"] .dtj-node[data-state="UPSTREAM_FAILED"]{background:repeating-linear-gradient(90deg,
 color-mix(in srgb,var(--dtj-bad) 55%,var(--dtj-card)) 0 24px,var(--dtj-card) 24px 40px)}
.dtj-dag[data-detail="far"] .dtj-node[data-state="EXECUTING"]{background:repeating-linear-gradient(-45deg,
 var(--dtj-run) 0 22px,color-mix(in srgb,var(--dtj-run) 35%,var(--dtj-card)) 22px 44px)}
.dtj-dag[data-detail="far"] .dtj-node[data-state="SKIPPED"]{--tone:var(--dtj-warn);
 background:linear-gradient(transparent 42%,var(--dtj-warn) 42% 58%,transparent 58%),var(--dtj-card)}
.dtj-dag[data-detail="far"] .dtj-node[aria-selected="true"]{box-shadow:0 0 0 12px var(--dtj-incremental)}
.dtj-dag[data-detail="far"] .dtj-node.dtj-match{box-shadow:0 0 0 10px var(--dtj-warn)}

.dtj-dag .dtj-zoom{position:absolute;right:8px;bottom:8px;display:flex;flex-direction:column;gap:4px}
.dtj-dag .dtj-zoom .dtj-button{box-shadow:0 1px 3px color-mix(in srgb,#000 14%,transparent)}
.dtj-dag .dtj-columns{position:absolute;z-index:2;width:250px;max-width:calc(100% - 16px);border:1px solid var(--dtj-incremental);
 border-radius:8px;background:var(--dtj-card);box-shadow:0 4px 16px color-mix(in srgb,#000 24%,transparent);cursor:auto;
 font-size:12px}
.dtj-dag .dtj-columns-head{display:flex;align-items:center;justify-content:space-between;gap:6px;padding:4px 4px 4px 10px;
 border-bottom:1px solid var(--dtj-grid)}
.dtj-dag .dtj-columns-head .dtj-button{border-color:transparent;background:transparent}
.dtj-dag .dtj-columns-body{max-height:230px;overflow:auto;padding:4px}
.dtj-dag .dtj-columns-body>.dtj-soft{padding:6px}
.dtj-dag .dtj-column{appearance:none;display:flex;justify-content:space-between;gap:12px;width:100%;border:0;border-radius:5px;
 background:transparent;color:inherit;font:12px/1.4 var(--dtj-mono);padding:3px 6px;text-align:left;cursor:pointer}
.dtj-dag .dtj-column:hover{background:color-mix(in srgb,var(--dtj-ink) 7%,transparent)}
.dtj-dag .dtj-column[aria-pressed="true"]{background:var(--dtj-incremental);color:var(--dtj-mark)}
.dtj-dag .dtj-column[aria-pressed="true"] .dtj-soft{color:inherit}
.dtj-dag .dtj-column>:last-child{flex:0 1 auto;max-width:50%}
.dtj-dag .dtj-view>.dtj-empty{position:absolute;inset:0;cursor:auto;user-select:text}
@container (max-width:420px){.dtj-dag .dtj-wide{display:none}}
@media (forced-colors:active){.dtj-dag .dtj-node{border-color:CanvasText}
 .dtj-dag .dtj-node[aria-selected="true"]{outline:3px solid Highlight}}
`;
