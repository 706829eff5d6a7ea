import { expect, test } from 'vitest';

import { cellMimeType, SQL_MIME_TYPE } from './sqlCell';

test.each([
  ['%%dynamic_table daily\nSELECT 1'],
  ["%%dynamic_table daily --target-lag '5 minutes'\nSELECT 1"],
  ['%%dt\nSHOW STREAMS'],
  ['%%dt'],
  ['%%changes'],
  ['%%changes orders_stream --append-only\nSELECT * FROM orders'],
  ['%%changes\tstream\r\norders'],
  ['\n\n  %%dt\n  SELECT 1'],
  ['%dt SELECT 1'],
  ['%dt'],
  ['  %dt SELECT 1'],
  ['%dt CREATE WAREHOUSE w\n\n%dt SHOW WAREHOUSES\n'],
  ['%dt CREATE WAREHOUSE w  \n# then look\n%dt SHOW WAREHOUSES'],
  ['%dt SELECT 1, \\\n  2'],
  ['%dt SELECT 1, \\\r\n  2\r\n%dt SELECT 3'],
])('%j is SQL', source => {
  expect(cellMimeType(source)).toBe(SQL_MIME_TYPE);
});

test.each([
  [''],
  ['\n \n'],
  ['SELECT 1'],
  ['x = 1'],
  ['%'],
  ['%%'],
  ['%%d'],
  ['%%time\nx = 1'],
  ['%%dtx\nSELECT 1'],
  ['%%dynamic_tables\nSELECT 1'],
  ['%%changes_of t\nSELECT 1'],
  ['%%dt?'],
  ['%% dt\nSELECT 1'],
  ['x = 1\n%%dt\nSELECT 1'],
  ['# a note\n%%dt\nSELECT 1'],
  ['%dtx SELECT 1'],
  ['%dt?'],
  ['rows = %dt SELECT 1'],
  ['%dt connect lake\nx = 1'],
  ['x = 1\n%dt SHOW STREAMS'],
  ['%dt SELECT 1, \\\n  2\nx = 1'],
  ['%changes orders'],
])('%j is in the language of the kernel', source => {
  expect(cellMimeType(source)).toBeNull();
});
