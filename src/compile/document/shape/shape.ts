/**
 * Reads located data by a schema, strictly and all at once: every mistake becomes one diagnostic at its own place, and the
 * faulty parts are taken out so that the rest can still be read and checked further.
 */
import type * as z from 'zod';
import type { Json } from '../../../expr/json.ts';
import type { Report } from '../../diagnose/diagnostics.ts';
import { faultsOf, noteKnownKeys, type Fault } from './faults.ts';
import type { Located, Path } from '../../source/located.ts';
import type { Range } from '../../source/range.ts';
import { createSalvage, type Salvage } from './salvage.ts';

export interface Shaped<Value> {
  readonly value: Value;
  /** False where something was wrong, so that `value` lacks parts. Checks that need the whole should then be left out. */
  readonly sound: boolean;
  /** Where the value at a path stands; the nearest thing around it where the path was left to its default. */
  at(...path: Path): Range;
  /** Where the key of the value at a path stands. */
  key(...path: Path): Range;
  /** The located value itself, as for a range within an expression. */
  located(...path: Path): Located | undefined;
}

export interface ShapeOptions {
  /** What the whole is called in a message; `this document` unless told. */
  readonly what?: string;
  /** Further names to suggest for an unknown key of the whole. */
  readonly alsoKnown?: Iterable<string>;
  /** What takes the place of a required value that is missing or faulty, so that what holds it can be checked further. */
  readonly standIn?: (path: Path) => Json | undefined;
}

const ROUNDS_MAX = 16;

/** Null where so much is wrong that nothing can be made of it. The diagnostics are in the report either way. */
export function readShape<Schema extends z.ZodType>(
  schema: Schema,
  located: Located,
  report: Report,
  options: ShapeOptions = {},
): Shaped<z.output<Schema>> | null {
  const salvage = createSalvage(located);
  const context = { what: options.what ?? 'this document', alsoKnown: [...(options.alsoKnown ?? [])] };
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const result = schema.safeParse(salvage.plain(), { error: noteKnownKeys });
    if (result.success) return shapedOf(result.data, salvage, salvage.whole());
    const faults = faultsOf(result.error.issues, salvage, context);
    for (const fault of faults) {
      if (fault.follows) continue;
      const at = fault.on === 'key' ? salvage.keyAt(fault.path) : salvage.at(fault.path);
      report.error(fault.code, at, fault.message, { help: fault.help });
    }
    for (const fault of faults) if (fault.meant !== undefined) salvage.rename(fault.path, fault.meant);
    const deadly = faults.filter((fault) => !fault.mended && !replaced(fault, salvage, options));
    if (!salvage.kill(deadly.map((fault) => fault.path))) return null;
    for (const fault of deadly) if (fault.code === 'bad-schema') loosen(fault.path, salvage);
  }
  return null;
}

function replaced({ code, path }: Fault, salvage: Salvage, { standIn }: ShapeOptions): boolean {
  const value = code === 'missing-field' ? standIn?.(path) : undefined;
  return value !== undefined && salvage.give(path, value);
}

/** A JSON Schema without its faulty part takes whatever that part might have allowed. */
function loosen(path: Path, salvage: Salvage): void {
  const isProperty = path.at(-2) === 'properties';
  salvage.give(isProperty ? path : [...path.slice(0, -1), 'additionalProperties'], true);
}

function shapedOf<Value>(value: Value, salvage: Salvage, sound: boolean): Shaped<Value> {
  return {
    value,
    sound,
    at: (...path) => salvage.at(path),
    key: (...path) => salvage.keyAt(path),
    located: (...path) => {
      const { node, missing } = salvage.find(path);
      return missing === 0 ? node : undefined;
    },
  };
}
