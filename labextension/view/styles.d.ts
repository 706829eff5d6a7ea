/** A style sheet as its text: `style/sheets.mjs` makes it small on its way into what is built. */
declare module '*.raw.css' {
  const text: string;
  export default text;
}
