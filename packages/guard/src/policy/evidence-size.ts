/**
 * `policy:evidence`: which results are cut to their head and tail, so that the evidence fits into the context of a verifier. Refused
 * and failed calls are never cut. Results of calls that only read are cut first, the longest before the others.
 */
import { listOf } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import { onlyReads } from '@sluice-internal/kernel/ir';
import { textOf, type Call } from '@sluice-internal/engine/ports';
import type { Observation } from '../values/evidence.ts';

/** Characters of the head and of the tail that stay. */
const KEPT = 1000;

export function checkEvidence({ command, flow }: Call): Json {
  const { observations, chars, rest } = command.input;
  const all = (listOf(observations) as readonly Observation[]).map(({ id, tool, args, ok, result = null, error }) => ({
    id,
    acts: !onlyReads(flow.tools[tool]?.effect),
    isCuttable: ok,
    head: id.length + tool.length + JSON.stringify(args).length + SPACE,
    size: textOf(error ?? result).length,
  }));
  let size = Number(rest ?? 0) + all.reduce((sum, each) => sum + each.head + each.size, 0);
  const cut: { id: string; keep: number }[] = [];
  const byOrder = all
    .filter((each) => each.isCuttable && each.size > 2 * KEPT)
    .toSorted((a, b) => Number(a.acts) - Number(b.acts) || b.size - a.size);
  for (const each of byOrder) {
    if (size <= Number(chars)) break;
    size -= each.size - 2 * KEPT;
    cut.push({ id: each.id, keep: KEPT });
  }
  return { fits: size <= Number(chars), cut };
}

/** The words around the id, the tool and its arguments. */
const SPACE = 40;
