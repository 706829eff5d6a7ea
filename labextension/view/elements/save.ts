/** Files for the browser's downloads. */

/** A name without what a file system reads as more than a name; `other` where nothing is left. */
export function plainName(text: string, other: string): string {
  return text.replace(/[^\p{L}\p{N}_-]+/gu, '_').slice(0, 80) || other;
}

/** Hands a text, or what it is made of, to the browser's downloads. */
export function download(content: string | Blob, name: string, type: string): void {
  const blob =
    typeof content === 'string' ? new Blob([content], { type: `${type};charset=utf-8` }) : content;
  const url = URL.createObjectURL(blob);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000); // the download has begun by then
}
