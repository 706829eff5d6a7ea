"use strict";(self.rspackChunkdt_jupyter=self.rspackChunkdt_jupyter||[]).push([[76],{724(t,e,n){var r=n(601),o=n.n(r),i=n(314),a=(n.n(i))()(o());a.push([t.id,`.dtjp {
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
`,""]),n.d(e,{},{A:a})},314(t){t.exports=function(t){var e=[];return e.toString=function(){return this.map(function(e){var n="",r=void 0!==e[5];return e[4]&&(n+="@supports (".concat(e[4],") {")),e[2]&&(n+="@media ".concat(e[2]," {")),r&&(n+="@layer".concat(e[5].length>0?" ".concat(e[5]):""," {")),n+=t(e),r&&(n+="}"),e[2]&&(n+="}"),e[4]&&(n+="}"),n}).join("")},e.i=function(t,n,r,o,i){"string"==typeof t&&(t=[[null,t,void 0]]);var a={};if(r)for(var d=0;d<this.length;d++){var p=this[d][0];null!=p&&(a[p]=!0)}for(var l=0;l<t.length;l++){var s=[].concat(t[l]);r&&a[s[0]]||(void 0!==i&&(void 0===s[5]||(s[1]="@layer".concat(s[5].length>0?" ".concat(s[5]):""," {").concat(s[1],"}")),s[5]=i),n&&(s[2]&&(s[1]="@media ".concat(s[2]," {").concat(s[1],"}")),s[2]=n),o&&(s[4]?(s[1]="@supports (".concat(s[4],") {").concat(s[1],"}"),s[4]=o):s[4]="".concat(o)),e.push(s))}},e}},601(t){t.exports=function(t){return t[1]}},807(t,e,n){n.r(e);var r=n(72),o=n.n(r),i=n(825),a=n.n(i),d=n(659),p=n.n(d),l=n(56),s=n.n(l),c=n(540),u=n.n(c),f=n(113),h=n.n(f),x=n(724),m={};m.styleTagTransform=h(),m.setAttributes=s(),m.insert=p().bind(null,"head"),m.domAPI=a(),m.insertStyleElement=u(),o()(x.A,m);let v=x.A&&x.A.locals?x.A.locals:void 0;n.d(e,{},{default:v})},72(t){var e=[];function n(t){for(var n=-1,r=0;r<e.length;r++)if(e[r].identifier===t){n=r;break}return n}function r(t,r){for(var o={},i=[],a=0;a<t.length;a++){var d=t[a],p=r.base?d[0]+r.base:d[0],l=o[p]||0,s="".concat(p," ").concat(l);o[p]=l+1;var c=n(s),u={css:d[1],media:d[2],sourceMap:d[3],supports:d[4],layer:d[5]};if(-1!==c)e[c].references++,e[c].updater(u);else{var f=function(t,e){var n=e.domAPI(e);return n.update(t),function(e){e?(e.css!==t.css||e.media!==t.media||e.sourceMap!==t.sourceMap||e.supports!==t.supports||e.layer!==t.layer)&&n.update(t=e):n.remove()}}(u,r);r.byIndex=a,e.splice(a,0,{identifier:s,updater:f,references:1})}i.push(s)}return i}t.exports=function(t,o){var i=r(t=t||[],o=o||{});return function(t){t=t||[];for(var a=0;a<i.length;a++){var d=n(i[a]);e[d].references--}for(var p=r(t,o),l=0;l<i.length;l++){var s=n(i[l]);0===e[s].references&&(e[s].updater(),e.splice(s,1))}i=p}}},659(t){var e={};t.exports=function(t,n){var r=function(t){if(void 0===e[t]){var n=document.querySelector(t);if(window.HTMLIFrameElement&&n instanceof window.HTMLIFrameElement)try{n=n.contentDocument.head}catch(t){n=null}e[t]=n}return e[t]}(t);if(!r)throw Error("Couldn't find a style target. This probably means that the value for the 'insert' parameter is invalid.");r.appendChild(n)}},540(t){t.exports=function(t){var e=document.createElement("style");return t.setAttributes(e,t.attributes),t.insert(e,t.options),e}},56(t,e,n){t.exports=function(t){var e=n.nc;e&&t.setAttribute("nonce",e)}},825(t){t.exports=function(t){if("u"<typeof document)return{update:function(){},remove:function(){}};var e=t.insertStyleElement(t);return{update:function(n){var r,o,i;r="",n.supports&&(r+="@supports (".concat(n.supports,") {")),n.media&&(r+="@media ".concat(n.media," {")),(o=void 0!==n.layer)&&(r+="@layer".concat(n.layer.length>0?" ".concat(n.layer):""," {")),r+=n.css,o&&(r+="}"),n.media&&(r+="}"),n.supports&&(r+="}"),(i=n.sourceMap)&&"u">typeof btoa&&(r+="\n/*# sourceMappingURL=data:application/json;base64,".concat(btoa(unescape(encodeURIComponent(JSON.stringify(i))))," */")),t.styleTagTransform(r,e,t.options)},remove:function(){var t;null===(t=e).parentNode||t.parentNode.removeChild(t)}}}},113(t){t.exports=function(t,e){if(e.styleSheet)e.styleSheet.cssText=t;else{for(;e.firstChild;)e.removeChild(e.firstChild);e.appendChild(document.createTextNode(t))}}}}]);