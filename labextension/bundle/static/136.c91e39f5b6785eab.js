"use strict";(self.rspackChunkdt_jupyter=self.rspackChunkdt_jupyter||[]).push([[136],{505(e,t,n){var r=n(126),o=n.n(r),i=n(719),a=(n.n(i))()(o());a.push([e.id,`.dtjp {
  display: flex;
  flex-direction: column;
  /* JupyterLab's own rule for side panels takes its value from here. */
  --jp-sidebar-min-width: 360px;
  background: var(--dtj-card);
  overflow: hidden;
}

.dtjp [hidden],
.dtjp-wide [hidden] {
  display: none !important;
}

.dtjp-head {
  display: flex;
  flex: none;
  align-items: center;
  gap: 4px;
  min-height: 38px;
  padding: 4px 8px 4px 12px;
}

.dtjp-title {
  display: flex;
  flex: 1 1 auto;
  flex-direction: column;
  min-width: 0;
  font-weight: 600;
  line-height: 1.25;
}

.dtjp-title span {
  font-size: 11px;
  font-weight: 400;
}

.dtjp-body,
.dtjp-board {
  display: flex;
  flex: 1 1 auto;
  flex-direction: column;
  min-height: 0;
}

.dtjp-tabs {
  display: flex;
  flex: none;
  overflow-x: auto;
  scrollbar-width: none;
  border-bottom: 1px solid var(--dtj-line);
}

.dtjp-tabs button {
  flex: 1 0 auto;
  margin: 0;
  padding: 5px;
  border: 0;
  border-bottom: 2px solid transparent;
  background: none;
  color: var(--dtj-soft);
  font: inherit;
  font-size: 12px;
  cursor: pointer;
}

.dtjp-tabs button:hover {
  color: var(--dtj-ink);
}

.dtjp-tabs button[aria-selected='true'] {
  border-bottom-color: var(--dtj-incremental);
  color: var(--dtj-ink);
  font-weight: 600;
}

.dtj .dtjp-tabs button:focus-visible {
  outline-offset: -2px;
}

.dtjp-banner:empty {
  display: none;
}

.dtjp-banner > * {
  margin: 6px 8px;
}

.dtjp-pane {
  flex: 1 1 auto;
  min-height: 0;
  overflow: auto;
  padding: 10px 12px;
}

.dtjp-pane-graph {
  display: flex;
  flex-direction: column;
  padding: 0;
  overflow: hidden;
}

.dtjp-pane-graph > .dtjp-place {
  flex: 1 1 auto;
  min-height: 0;
}

.dtjp-details > section + section {
  margin-top: 14px;
}

.dtjp-chosen {
  display: flex;
  flex: none;
  align-items: center;
  gap: 4px;
  padding: 4px 8px 4px 12px;
  border-top: 1px solid var(--dtj-line);
}

.dtjp-chosen bdi {
  flex: 1 1 auto;
  min-width: 0;
  font-weight: 600;
}

.dtjp-ask {
  padding: 8px 0;
}

.dtjp-offer {
  display: flex;
  flex-direction: column;
  align-items: center;
  gap: 8px;
  max-width: 100%;
}

.dtjp-offer .dtj-status {
  max-width: 100%;
  overflow-wrap: anywhere;
  text-align: left;
  white-space: pre-wrap;
}

.dtjp-wide {
  container-type: inline-size;
  background: var(--dtj-page);
}

.dtjp-wide-both {
  display: flex;
  height: 100%;
}

.dtjp-wide-graph {
  flex: 2 1 0;
  min-width: 0;
  min-height: 0;
}

.dtjp-wide-detail {
  flex: 1 1 0;
  min-width: 320px;
  max-width: 520px;
  padding: 10px 14px;
  overflow: auto;
  border-left: 1px solid var(--dtj-line);
  background: var(--dtj-card);
}

@container (max-width: 720px) {
  .dtjp-wide-both {
    flex-direction: column;
  }

  .dtjp-wide-detail {
    min-width: 0;
    max-width: none;
    border-top: 1px solid var(--dtj-line);
    border-left: 0;
  }
}

.dtjp-wide > .dtjp-empty {
  display: flex;
  align-items: center;
  justify-content: center;
  height: 100%;
}
.dtjp-recent {
  align-self: stretch;
  box-sizing: border-box;
  width: 100%;
  min-width: 0;
  margin-top: 12px;
  text-align: left;
}
.dtjp-recent h4 {
  margin: 0 0 4px;
}
.dtjp-recent .dtj-button.dtjp-lake {
  display: block;
  width: 100%;
  margin-bottom: 4px;
  text-align: left;
  overflow: hidden;
  text-overflow: ellipsis;
  white-space: nowrap;
}
.dtje-problem {
  text-decoration: underline wavy var(--jp-error-color1, #cf222e);
  text-decoration-skip-ink: none;
  text-underline-offset: 3px;
}
.dtje-problem.dtje-warning {
  text-decoration-color: var(--jp-warn-color1, #9a6700);
}
.dtje-told {
  max-width: 480px;
  padding: 4px 8px;
  font-family: var(--jp-ui-font-family);
  font-size: 12px;
  overflow-wrap: anywhere;
}
`,""]),n.d(t,{},{A:a})},719(e){e.exports=function(e){var t=[];return t.toString=function(){return this.map(function(t){var n="",r=void 0!==t[5];return t[4]&&(n+="@supports (".concat(t[4],") {")),t[2]&&(n+="@media ".concat(t[2]," {")),r&&(n+="@layer".concat(t[5].length>0?" ".concat(t[5]):""," {")),n+=e(t),r&&(n+="}"),t[2]&&(n+="}"),t[4]&&(n+="}"),n}).join("")},t.i=function(e,n,r,o,i){"string"==typeof e&&(e=[[null,e,void 0]]);var a={};if(r)for(var d=0;d<this.length;d++){var p=this[d][0];null!=p&&(a[p]=!0)}for(var l=0;l<e.length;l++){var s=[].concat(e[l]);r&&a[s[0]]||(void 0!==i&&(void 0===s[5]||(s[1]="@layer".concat(s[5].length>0?" ".concat(s[5]):""," {").concat(s[1],"}")),s[5]=i),n&&(s[2]&&(s[1]="@media ".concat(s[2]," {").concat(s[1],"}")),s[2]=n),o&&(s[4]?(s[1]="@supports (".concat(s[4],") {").concat(s[1],"}"),s[4]=o):s[4]="".concat(o)),t.push(s))}},t}},126(e){e.exports=function(e){return e[1]}},491(e,t,n){n.r(t);var r=n(559),o=n.n(r),i=n(204),a=n.n(i),d=n(672),p=n.n(d),l=n(215),s=n.n(l),c=n(691),f=n.n(c),u=n(696),x=n.n(u),h=n(505),m={};m.styleTagTransform=x(),m.setAttributes=s(),m.insert=p().bind(null,"head"),m.domAPI=a(),m.insertStyleElement=f(),o()(h.A,m);let v=h.A&&h.A.locals?h.A.locals:void 0;n.d(t,{},{default:v})},559(e){var t=[];function n(e){for(var n=-1,r=0;r<t.length;r++)if(t[r].identifier===e){n=r;break}return n}function r(e,r){for(var o={},i=[],a=0;a<e.length;a++){var d=e[a],p=r.base?d[0]+r.base:d[0],l=o[p]||0,s="".concat(p," ").concat(l);o[p]=l+1;var c=n(s),f={css:d[1],media:d[2],sourceMap:d[3],supports:d[4],layer:d[5]};if(-1!==c)t[c].references++,t[c].updater(f);else{var u=function(e,t){var n=t.domAPI(t);return n.update(e),function(t){t?(t.css!==e.css||t.media!==e.media||t.sourceMap!==e.sourceMap||t.supports!==e.supports||t.layer!==e.layer)&&n.update(e=t):n.remove()}}(f,r);r.byIndex=a,t.splice(a,0,{identifier:s,updater:u,references:1})}i.push(s)}return i}e.exports=function(e,o){var i=r(e=e||[],o=o||{});return function(e){e=e||[];for(var a=0;a<i.length;a++){var d=n(i[a]);t[d].references--}for(var p=r(e,o),l=0;l<i.length;l++){var s=n(i[l]);0===t[s].references&&(t[s].updater(),t.splice(s,1))}i=p}}},672(e){var t={};e.exports=function(e,n){var r=function(e){if(void 0===t[e]){var n=document.querySelector(e);if(window.HTMLIFrameElement&&n instanceof window.HTMLIFrameElement)try{n=n.contentDocument.head}catch(e){n=null}t[e]=n}return t[e]}(e);if(!r)throw Error("Couldn't find a style target. This probably means that the value for the 'insert' parameter is invalid.");r.appendChild(n)}},691(e){e.exports=function(e){var t=document.createElement("style");return e.setAttributes(t,e.attributes),e.insert(t,e.options),t}},215(e,t,n){e.exports=function(e){var t=n.nc;t&&e.setAttribute("nonce",t)}},204(e){e.exports=function(e){if("u"<typeof document)return{update:function(){},remove:function(){}};var t=e.insertStyleElement(e);return{update:function(n){var r,o,i;r="",n.supports&&(r+="@supports (".concat(n.supports,") {")),n.media&&(r+="@media ".concat(n.media," {")),(o=void 0!==n.layer)&&(r+="@layer".concat(n.layer.length>0?" ".concat(n.layer):""," {")),r+=n.css,o&&(r+="}"),n.media&&(r+="}"),n.supports&&(r+="}"),(i=n.sourceMap)&&"u">typeof btoa&&(r+="\n/*# sourceMappingURL=data:application/json;base64,".concat(btoa(unescape(encodeURIComponent(JSON.stringify(i))))," */")),e.styleTagTransform(r,t,e.options)},remove:function(){var e;null===(e=t).parentNode||e.parentNode.removeChild(e)}}}},696(e){e.exports=function(e,t){if(t.styleSheet)t.styleSheet.cssText=e;else{for(;t.firstChild;)t.removeChild(t.firstChild);t.appendChild(document.createTextNode(e))}}}}]);