/** The form that a reply is expected to have, and how it is stored. */
import { isRecord } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import type { DoNode } from '@sluice-internal/kernel/ir';

/** The reply is an object. If it does not fit, the model gets it back once with the reason. */
export const ONE_REPAIR: NonNullable<DoNode['fit']> = { repairs: 1 };

/** As above, but a reply that still does not fit passes: the notation corrects it itself. */
export const REPAIR_THEN_PASS: NonNullable<DoNode['fit']> = { repairs: 1, lenient: true };

/** An object in the reply is read, also if it is almost JSON. Any other reply passes as it is, without another call. */
export const IF_OBJECT: NonNullable<DoNode['fit']> = { repairs: 0, lenient: true };

/** As above, but only if the whole reply is the object: a text that contains one is a text. */
export const WHOLE_IF_OBJECT: NonNullable<DoNode['fit']> = { ...IF_OBJECT, whole: true };

/** The write mode of a reply: with a schema for objects, the one object in it is stored. */
export function replyMode(schema: Json): 'object' | 'reply' {
  return isObjectSchema(schema) ? 'object' : 'reply';
}

export function isObjectSchema(schema: Json): boolean {
  return isRecord(schema) && schema['type'] === 'object';
}
