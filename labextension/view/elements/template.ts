/** The cell that makes a dynamic table, over a table that the lake has. */
import { NEW_TABLE, newTableOf } from './sqlTexts';
import type { Host } from './dom';

/** Where the lake cannot be asked, over a table of another name: it is to be filled in anyway. */
export async function templateFor(host: Pick<Host, 'ask' | 'live'> | null): Promise<string> {
  if (!host?.live) {
    return NEW_TABLE;
  }
  const answer = await host.ask({ ask: 'catalogue' }).catch(() => null);
  return answer?.type === 'catalogue' ? newTableOf(answer.items) : NEW_TABLE;
}
