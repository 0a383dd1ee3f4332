/** The check that traces the arguments of a tool to their sources, by the effect class of the tool. */
import { onlyReads } from '@sluice-internal/kernel/ir';
import type { BoundaryDef } from '@sluice-internal/kernel/ir';
import type { Builder } from './builder-types.ts';

/** Categories of writes that stay in the run's own folder or sandbox, or that only record a judgement. */
const CONTAINED: ReadonlySet<string> = new Set(['file_system', 'sandbox', 'review']);

/** Null if the arguments need no check: the call changes nothing, or nothing outside the run. */
export function provenanceCheck(
  { toolDef, definitions }: Pick<Builder, 'toolDef' | 'definitions'>,
  tool: string,
  { untrusted, profile }: Pick<BoundaryDef, 'untrusted' | 'profile'>,
): 'policy:egress' | 'policy:provenance' | null {
  const effect = toolDef(tool)?.effect ?? 'write';
  if (untrusted === 'off') return null;
  if (effect === 'egress') {
    const hasSecrets = Object.values(definitions.tools).some(({ confidential }) => confidential === true);
    return hasSecrets || profile !== null ? 'policy:egress' : null;
  }
  return isHarmless({ toolDef }, tool) ? null : 'policy:provenance';
}

/** The call only reads, or its writes stay in the run's own folder. */
export function isHarmless({ toolDef }: Pick<Builder, 'toolDef'>, tool: string): boolean {
  const { effect = 'write', category = '' } = toolDef(tool) ?? {};
  return onlyReads(effect) || (effect === 'write' && CONTAINED.has(category));
}
