/** Who has to answer a question, in a line: what its row of the escalation table says. Empty where it has none. */
import type { Escalation } from '../../catalog/escalations.ts';
import type { Waiting } from '../../runtime/engine/types.ts';
import { oneLine } from './text.ts';

export function escalationLine({ payload }: Pick<Waiting, 'payload'>): string {
  const row = rowIn(payload);
  return row === null ? '' : rowLine(row);
}

export function rowLine({ endpoint, severity, row, recovery }: Escalation): string {
  return oneLine(`${endpoint} (${row}, severity ${severity}): ${recovery}`, 300);
}

function rowIn(payload: unknown): Escalation | null {
  if (typeof payload !== 'object' || payload === null || !('escalation' in payload)) return null;
  const { escalation } = payload;
  const fits = typeof escalation === 'object' && escalation !== null && 'row' in escalation && 'endpoint' in escalation;
  return fits ? (escalation as Escalation) : null;
}
