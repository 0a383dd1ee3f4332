/** An error that a user can act on: a code with a page of its own, one sentence, and often a way out. */

export class SluiceError extends Error {
  readonly code: ErrorCode;
  readonly help: string | undefined;

  constructor(code: ErrorCode, message: string, help?: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'SluiceError';
    this.code = code;
    this.help = help;
  }
}

export const ERROR_CODES = {
  // Calling the command
  usage: { title: 'Wrong usage', summary: 'The command was called with arguments that it does not take.' },
  'old-node': {
    title: 'Node is too old',
    summary: 'The command was started on a release of Node that it does not run on.',
  },
  'file-not-found': { title: 'The file does not exist', summary: 'A file that the command was given is not there.' },
  'file-unreadable': { title: 'The file cannot be read', summary: 'The file is there, but reading it failed.' },
  'bad-module': {
    title: 'A module without a flow',
    summary: 'A TypeScript module does not export what was asked of it.',
  },
  interrupted: {
    title: 'Stopped by a signal',
    summary: 'The process was asked to stop; the run is kept and can be resumed.',
  },
  'internal-error': { title: 'A fault of the program', summary: 'Something happened that should be impossible.' },

  // The journal
  'journal-busy': { title: 'The journal is busy', summary: 'Another process held the database for too long.' },
  'journal-read-only': {
    title: 'The journal cannot be written',
    summary: 'The database file or its folder is read-only.',
  },
  'journal-newer': {
    title: 'The journal is from a newer release',
    summary: 'The database was written by a later release than this one.',
  },
  'journal-damaged': { title: 'The journal is damaged', summary: 'The database file cannot be read as one.' },
  'journal-unavailable': {
    title: 'The journal cannot be reached',
    summary: 'Opening, reading or writing the database file failed.',
  },
  'disk-full': { title: 'The disk is full', summary: 'An append did not fit; nothing of it was kept.' },
  'chain-broken': { title: 'The journal was changed', summary: 'An event does not hash to what the next one expects.' },
  'replay-differs': {
    title: 'The replay took another way',
    summary: 'Deciding again over the journal gave other events than it holds.',
  },
  'invariant-broken': {
    title: 'A law of the engine was broken',
    summary: 'The run was stopped since its state contradicts itself.',
  },

  // Runs
  'run-not-found': { title: 'No such run', summary: 'The journal holds no run by that id.' },
  'bad-run-id': { title: 'Not a run id', summary: 'A run id given by the caller has characters that it may not have.' },
  'bad-start': {
    title: 'Nothing that can be started',
    summary: 'A start was given no compiled flow, or an input that is not JSON.',
  },
  'run-exists': { title: 'The run id is taken', summary: 'A run by that id exists, with another flow or input.' },
  'run-ended': { title: 'The run has ended', summary: 'The run is over, so that it cannot be changed any more.' },
  'lease-lost': {
    title: 'The lease was lost',
    summary: 'Another worker took the run over, so that this one stopped before it acted.',
  },
  'engine-closed': { title: 'The engine is closed', summary: 'A call came after `close`.' },
  'value-too-large': {
    title: 'A value is too large',
    summary: 'An input, an output or a result is larger than what is stored.',
  },

  // People
  'approval-not-found': { title: 'No such approval', summary: 'Nothing by that id waits for an answer.' },
  'approval-closed': { title: 'Already answered', summary: 'The approval was answered, cancelled or has expired.' },
  'bad-answer': {
    title: 'An answer that cannot be used',
    summary: 'What came with the choice is missing, or is not what the question takes.',
  },
  'not-a-choice': {
    title: 'Not one of the choices',
    summary: 'The answer is not among those that the approval offers.',
  },
  'stale-payload': {
    title: 'The question has changed',
    summary: 'The answer is to an earlier version of what is asked now.',
  },
  'self-approval': {
    title: 'Whoever asked may not approve',
    summary: 'The answer came under the name of whoever asked.',
  },

  // Models and tools
  'no-model': {
    title: 'No model to run on',
    summary: 'An agent names no model, and neither the command nor the environment does.',
  },
  'no-credentials': {
    title: "A provider's key is missing",
    summary: 'The environment lacks the key that a model needs.',
  },
  'no-implementation': {
    title: 'A tool that cannot be run',
    summary: 'The tool has no implementation, and no script stands in for it.',
  },
} as const satisfies { readonly [code: string]: { readonly title: string; readonly summary: string } };

type ErrorCode = keyof typeof ERROR_CODES;

export function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(ERROR_CODES, code);
}
