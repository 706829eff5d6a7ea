/** What Vite adds for tests. */
interface ImportMeta {
  glob(
    pattern: string | readonly string[],
    options: { readonly query: '?raw'; readonly import: 'default'; readonly eager: true },
  ): Record<string, string>;
}
