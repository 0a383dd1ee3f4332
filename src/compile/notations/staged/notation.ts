/** The staged notation: plan, fan-out, fan-in, validate, finalize. */
import { FULL_PROTECTIONS } from '../../document/protections.ts';
import type { Notation } from '../notation.ts';
import { drawStaged } from './draw.ts';
import { lowerStaged } from './lower.ts';
import { stagedSchema } from './schema.ts';
import type { Report } from '../../diagnose/diagnostics.ts';
import type { Definitions } from '../../document/definitions.ts';
import type { ReadDocument } from '../../document/document.ts';
import { readShape } from '../../document/shape/shape.ts';
import { checkStaged } from './check.ts';
import { settle, topologyOf } from './model.ts';
import type { Staged } from './model.ts';

export const stagedNotation: Notation = {
  name: 'staged',
  key: 'staged',
  schema: stagedSchema,
  limits: ['depth', 'spawn', 'on_failure'],
  protections: FULL_PROTECTIONS,
  lower(document, definitions, report) {
    const staged = readStaged(document, definitions, report);
    if (staged === null) return { lowered: null, picture: null };
    return { lowered: lowerStaged(staged, document.at), picture: drawStaged(staged) };
  },
};

function readStaged(document: ReadDocument, definitions: Definitions, report: Report): Staged | null {
  const body = readShape(stagedSchema, document.body, report, { what: '`staged`' });
  if (body === null) return null;
  const { tier = definitions.protections.tier } = body.value;
  checkStaged({ body, document, definitions, report, tier, path: [], depth: 1 }, body.value);
  if (!body.sound || !document.sections.sound || report.failed()) return null;
  return settle(body.value, topologyOf(body.value), definitions, tier);
}
