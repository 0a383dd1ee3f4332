/**
 * The public CEL conformance cases, read from the packaged test data of the specification, in the terms of our evaluator.
 */
import { tests } from '@bufbuild/cel-spec/testdata/conformance.js';
import { makeMap } from '../../../src/expr/map.ts';
import { Bytes, TypeName, Uint } from '../../../src/expr/value.ts';
import { parseDuration, parseTimestamp } from '../../../src/expr/time.ts';
import type { Value } from '../../../src/expr/value.ts';

export interface Case {
  /** file/section/name, as in the specification's repository. */
  readonly id: string;
  readonly expr: string;
  readonly bindings: { readonly [name: string]: Value };
  readonly expected: { readonly value: Value } | 'error';
}

export interface Cases {
  readonly runnable: readonly Case[];
  /** Cases that build or receive protobuf messages. */
  readonly protobuf: readonly string[];
  /** Cases that state a static type and no value. */
  readonly typesOnly: readonly string[];
}

type Wire = { readonly [field: string]: unknown };
type Suite = NonNullable<(typeof tests)['suites']>[number];

export function loadCases(): Cases {
  const cases = { runnable: [] as Case[], protobuf: [] as string[], typesOnly: [] as string[] };
  const visit = (suite: Suite, path: string): void => {
    for (const { original } of suite.tests ?? []) {
      const id = `${path}/${original.name ?? original.expr}`;
      const converted = convert(id, original);
      if (typeof converted === 'string') cases[converted].push(id);
      else cases.runnable.push(converted);
    }
    for (const inner of suite.suites ?? []) visit(inner, `${path}/${inner.name}`);
  };
  for (const file of tests.suites ?? []) visit(file, file.name);
  return cases;
}

/** A message or enum by name, or a message literal such as `Int32Value{…}`. */
const PROTOBUF_EXPR =
  /TestAllTypes|TestRequired|NestedEnum|GlobalEnum|google\.protobuf\.(?!Timestamp|Duration)|cel\.expr\.|proto\.(has|get)Ext|\b[A-Z]\w*\{/;

function convert(id: string, test: Wire): Case | 'protobuf' | 'typesOnly' {
  const expr = test['expr'] as string;
  if (PROTOBUF_EXPR.test(expr) || JSON.stringify(test['typeEnv'] ?? '').includes('messageType')) return 'protobuf';
  const typed = test['typedResult'] as { result?: Wire } | undefined;
  const value = (test['value'] ?? typed?.result) as Wire | undefined;
  if (test['checkOnly'] === true || (typed !== undefined && value === undefined)) return 'typesOnly';
  try {
    const bindings: { [name: string]: Value } = {};
    for (const [name, bound] of Object.entries((test['bindings'] ?? {}) as { [name: string]: { value: Wire } }))
      bindings[name] = valueOf(bound.value);
    // A case that states no result expects true.
    return {
      id,
      expr,
      bindings,
      expected: test['evalError'] === undefined ? { value: value === undefined ? true : valueOf(value) } : 'error',
    };
  } catch (cause) {
    if (cause instanceof NeedsProtobuf) return 'protobuf';
    throw cause;
  }
}

class NeedsProtobuf extends Error {}

function valueOf(wire: Wire): Value {
  const [[kind, raw] = ['', undefined]] = Object.entries(wire);
  switch (kind) {
    case 'nullValue':
      return null;
    case 'boolValue':
    case 'stringValue':
      return raw as boolean | string;
    case 'doubleValue':
      return Number(raw);
    case 'int64Value':
      return BigInt(raw as string);
    case 'uint64Value':
      return new Uint(BigInt(raw as string));
    case 'bytesValue':
      return new Bytes(Uint8Array.from(Buffer.from(raw as string, 'base64')));
    case 'typeValue':
      return new TypeName(raw as string);
    case 'listValue':
      return ((raw as { values?: Wire[] }).values ?? []).map(valueOf);
    case 'mapValue':
      return makeMap(
        ((raw as { entries?: { key: Wire; value: Wire }[] }).entries ?? []).map(({ key, value }) => [
          valueOf(key),
          valueOf(value),
        ]),
      );
    case 'objectValue':
      return messageOf(raw as { '@type': string; value?: string });
    default:
      throw new NeedsProtobuf(kind);
  }
}

function messageOf(message: { '@type': string; value?: string }): Value {
  if (message['@type'].endsWith('google.protobuf.Timestamp')) return parseTimestamp(message.value ?? '');
  if (message['@type'].endsWith('google.protobuf.Duration')) return parseDuration(message.value ?? '');
  throw new NeedsProtobuf(message['@type']);
}
