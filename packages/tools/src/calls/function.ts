/** The types of a tool that is a function: of a module beside the document, or of the caller. */
import type { Json } from '@sluice-internal/kernel/expr';
import type { Attach } from '@sluice-internal/platform';

/**
 * The second parameter of a tool function.
 * @example
 * const pay: ToolFunction = async (args, { idempotencyKey, signal }: ToolContext) => ({ key: idempotencyKey, late: signal.aborted });
 */
export interface ToolContext {
  /** Aborted when the call times out or the run is cancelled. */
  readonly signal: AbortSignal;
  /** The same for every attempt of this call. No other call has it. */
  readonly idempotencyKey: string;
  readonly run: string;
  readonly node: string;
  readonly attempt: number;
  /** The time at which the engine stops waiting, in milliseconds since 1970; null if there is no limit. */
  readonly deadline: number | null;
  /** Tells that the call is still at work, if its tool declares `timeout: { heartbeat }`. After a longer silence the attempt is lost. */
  readonly heartbeat: () => void;
  /** In a compensation: the result of the call that it undoes. Otherwise null. */
  readonly result: Json;
  /** Adds an image or a file to the run. The returned reference, in the result, shows it to models. */
  readonly attach: Attach;
}
/**
 * A function that performs a tool.
 * @example
 * const look: ToolFunction = ({ order }) => ({ order: order ?? null, state: 'shipped' });
 * const own = createEngine({ tools: { 'orders.look': look } });
 */
export type ToolFunction = (
  args: { readonly [field: string]: Json },
  context: ToolContext,
) => Json | void | Promise<Json | void>;
