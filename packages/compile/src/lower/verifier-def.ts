/** `verifier:` of a document, with its defaults. */

/** The verifier of a loop, a node, a step, a stage or a team. */
export interface Verifier {
  /** An agent of the document; null for the engine's own. */
  readonly agent: string | null;
  readonly model: string | null;
  readonly instructions: string;
  /** The least confidence that lets an answer pass. */
  readonly confidence: number | null;
}

/** The forms of `verifier:` in a document. */
export type RawVerifier =
  | string
  | false
  | {
      readonly agent?: string | undefined;
      readonly model?: string | undefined;
      readonly instructions?: string | undefined;
      readonly confidence?: number | undefined;
    };

export const DEFAULT_VERIFIER: Verifier = { agent: null, model: null, instructions: '', confidence: null };

export function verifierOf(raw: RawVerifier | undefined, otherwise: Verifier | null): Verifier | null {
  if (raw === undefined) return otherwise;
  if (raw === false) return null;
  if (typeof raw === 'string') return raw === 'default' ? DEFAULT_VERIFIER : { ...DEFAULT_VERIFIER, agent: raw };
  const { agent = null, model = null, instructions = '', confidence = null } = raw;
  return { agent: agent === 'default' ? null : agent, model, instructions, confidence };
}
