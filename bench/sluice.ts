/** Sluice as a contestant: each shape is a flow run by the engine on its SQLite journal. */
import { createRequire } from 'node:module';
import type { Contestant } from './shape.ts';

const manifest = createRequire(import.meta.url)('../package.json') as { version: string };

export const sluice: Contestant = {
  name: 'sluice',
  version: manifest.version,
  shapes: {},
};
