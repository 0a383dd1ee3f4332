/** The most of everything. `docs/guide/limits.md` lists them all, and a test compares the two. */
const MIB = 1024 * 1024;

export const LIMITS = {
  /** Characters of a document. */
  documentText: 8 * MIB,
  /** Levels of a document. */
  documentDepth: 100,
  /** Values that the aliases of a document expand to. */
  documentAliased: 20_000,
  /** Values of a document, with lists and maps. */
  documentValues: 250_000,
  /** Nodes of a compiled graph. */
  graphNodes: 50_000,
  /** Characters of the input of a run, in JSON. */
  input: 64 * MIB,
  /** Characters of the result of a tool, in JSON. */
  result: 4 * MIB,
  /** Tool calls of one reply. */
  replyCalls: 128,
  /** Bytes of the response of a provider, or characters of a reply of a function, in JSON. */
  response: 32 * MIB,
  /** Levels of a value. */
  valueDepth: 1000,
  /** Questions of one run that are open at once. */
  openQuestions: 500,
  /** Events of one run. */
  runEvents: 100_000,
  /** Characters of the values above 4 KB that one run stores. */
  runBytes: 256 * MIB,
  /** Runs that one process works on at once. */
  openRuns: 10_000,
} as const;

/** A run is told about a limit at this share of it. */
export const NEAR = 0.8;
/** A turn with more events goes on in a second one, so that no commit grows without end. */
export const TURN_EVENTS = 10_000;
