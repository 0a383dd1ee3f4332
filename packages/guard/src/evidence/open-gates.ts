/**
 * What gates still need, for a correction: the reasons of all checks that would refuse now. Checks that run commands or code
 * of the user are left out, because they are for the gate itself.
 */
import { listOf } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import { contractHolds } from './contracts.ts';
import type { Evidence, Validator } from './evidence.ts';
import { BUILTIN_VALIDATORS } from './validators/registry.ts';

interface Gate {
  readonly what: string;
  readonly checks: readonly Check[];
}
interface Check {
  readonly name: string;
  readonly config: { readonly [field: string]: Json };
}

/** `whole` is true if every check of the gate was judged, and none would refuse. */
export async function openGates(evidence: Evidence, gates: Json | undefined): Promise<Json> {
  const found: Json[] = [];
  for (const { what, checks } of listOf(gates) as unknown as readonly Gate[]) {
    const open: string[] = [];
    let whole = true;
    for (const { name, config } of checks) {
      const check = readerOf(name, config);
      const verdict = await check.judge({ ...evidence, config: check.config });
      if (!verdict.ok && !open.includes(verdict.reason)) open.push(verdict.reason);
      whole &&= verdict.ok && check.whole;
    }
    found.push({ what, open, whole });
  }
  return { ok: true, gates: found };
}

interface Reader {
  readonly judge: Validator;
  readonly config: Check['config'];
  /** False if part of the check is left to the gate. */
  readonly whole: boolean;
}

const NOTHING: Pick<Reader, 'judge' | 'whole'> = { judge: () => ({ ok: true, reason: '' }), whole: false };
/** They run tests, or read the whole work directory. */
const LEFT: ReadonlySet<string> = new Set(['RequireRelatedTestsPass', 'ArchitectureValidator']);

function readerOf(name: string, config: Check['config']): Reader {
  const [family = '', which = ''] = name.split(/:(.*)/s);
  if (family === 'contract') {
    const { gate, ...rest } = config;
    const all = listOf(config['Requires']) as readonly Json[];
    const Requires = all.filter((each) => !/RelatedTestsPass/.test(JSON.stringify(each)));
    return {
      judge: (evidence) => contractHolds(which, evidence),
      config: { ...rest, Requires },
      whole: gate === undefined && Requires.length === all.length,
    };
  }
  const known: { readonly [name: string]: Validator } = BUILTIN_VALIDATORS;
  const own = family === 'validator' && config['Module'] === undefined && !LEFT.has(which);
  const judge = own && Object.hasOwn(known, which) ? known[which] : undefined;
  return judge === undefined ? { ...NOTHING, config } : { judge, config, whole: true };
}
