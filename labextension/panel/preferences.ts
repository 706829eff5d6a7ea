import type { ISettingRegistry } from '@jupyterlab/settingregistry';

import type { GraphLayout } from './panes';

/** The settings of `schema/panel.json`; they are kept up to date in place. */
export interface Preferences {
  side: 'left' | 'right';
  live: boolean;
  problems: boolean;
  direction: 'automatic' | 'down' | 'right';
}

export function graphLayout({ direction }: Preferences): GraphLayout {
  return { rightward: direction === 'automatic' ? null : direction === 'right' };
}

/** Reads the settings of the plug-in `id` into `preferences`, now and whenever they change. */
export async function followSettings(
  registry: ISettingRegistry | null,
  id: string,
  preferences: Preferences,
  changed: () => void,
): Promise<void> {
  if (registry === null) {
    return;
  }
  const settings = await registry.load(id);
  const read = () => {
    Object.assign(preferences, settings.composite);
    changed();
  };
  settings.changed.connect(read);
  read();
}
