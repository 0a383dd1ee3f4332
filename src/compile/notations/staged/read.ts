/** Reads and checks a `staged` section. Returns null after a mistake that makes lowering pointless. */
import type { Report } from '../../diagnose/diagnostics.ts';
import type { Definitions } from '../../document/definitions.ts';
import type { ReadDocument } from '../../document/document.ts';
import { readShape } from '../../document/shape/shape.ts';
import { checkStaged } from './check.ts';
import { settle, topologyOf } from './model.ts';
import type { Staged } from './model.ts';
import { stagedSchema } from './schema.ts';

export function readStaged(document: ReadDocument, definitions: Definitions, report: Report): Staged | null {
  const body = readShape(stagedSchema, document.body, report, { what: '`staged`' });
  if (body === null) return null;
  const { tier = definitions.protections.tier } = body.value;
  checkStaged({ body, document, definitions, report, tier, path: [], depth: 1 }, body.value);
  if (!body.sound || !document.sections.sound || report.failed()) return null;
  return settle(body.value, topologyOf(body.value), definitions, tier);
}
