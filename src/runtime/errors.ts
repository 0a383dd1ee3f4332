/**
 * Errors that a user can act on. Every error has a code from this closed set, one sentence, often a remedy, and a page at
 * docs/errors/<code>.md.
 */

/**
 * An error that a user can act on, with a code, a sentence and often a remedy.
 * @example
 * try {
 *   await engine.get('r_unknown');
 * } catch (error) {
 *   if (error instanceof SluiceError) console.error(error.code, error.message, error.help);
 * }
 */
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
  usage: { title: 'Wrong usage', summary: 'The command was called with wrong arguments.' },
  'old-node': {
    title: 'Node is too old',
    summary: 'This release of Node is not supported.',
  },
  'too-many-files': {
    title: 'Too many open files',
    summary: 'The limit of the operating system on open files is too low.',
  },
  'pii-key': {
    title: 'The key for personal data cannot be used',
    summary: 'The key is missing, has another length, or is not the one with which the run started.',
  },
  'pii-blocked': {
    title: 'Personal data is not allowed',
    summary: 'The document refuses personal data, and the input or an answer has some.',
  },
  'pii-service': {
    title: 'The service for personal data cannot be asked',
    summary: 'The analyzer that `pii.service` names does not answer, or not as a Presidio analyzer does.',
  },
  'file-not-found': {
    title: 'The file does not exist',
    summary: 'A file that was passed to the command does not exist.',
  },
  'file-unreadable': { title: 'The file cannot be read', summary: 'The file exists, but it could not be read.' },
  'bad-baseline': {
    title: 'The baseline is not a report',
    summary: 'The file that `--baseline` names is not a report of `sluice eval` or `sluice metrics`.',
  },
  'bad-module': {
    title: 'The module has no flow',
    summary: 'A TypeScript module does not export the expected flow.',
  },
  'bad-lock': {
    title: 'The lock file cannot be used',
    summary: 'The lock file of MCP servers is damaged, or has an unknown version.',
  },
  'mcp-unreachable': {
    title: 'An MCP server cannot be reached',
    summary: 'A server of the document could not be started or did not answer.',
  },
  'mcp-changed': {
    title: 'An MCP server has changed',
    summary: 'A tool of a server differs from the lock file. Nothing was started.',
  },
  interrupted: {
    title: 'Stopped by a signal',
    summary: 'The process was asked to stop. The run is stored and can be resumed.',
  },
  'internal-error': { title: 'Internal error', summary: 'The program is in a state that should be impossible.' },

  // The library
  'compile-failed': {
    title: 'The flow does not compile',
    summary: 'A flow was started that has errors. The exception lists every diagnostic.',
  },
  'not-recorded': {
    title: 'The function cannot be recorded',
    summary: 'A function of a flow used a reference in a way that does not become an expression.',
  },
  'unknown-schema': {
    title: 'The schema cannot be converted',
    summary: 'A schema does not follow Standard Schema, or has no JSON Schema.',
  },
  'bad-definition': {
    title: 'The definition breaks a rule',
    summary: 'Two parts of a definition have the same name, or a part is not possible there.',
  },
  'run-failed': {
    title: 'The run did not succeed',
    summary: 'The result of a run was read, and the run failed, was cancelled or used up its budget.',
  },

  // The journal
  'journal-busy': { title: 'The journal is busy', summary: 'Another process kept the database locked for too long.' },
  'journal-read-only': {
    title: 'The journal is read-only',
    summary: 'The database file or its folder is read-only.',
  },
  'journal-newer': {
    title: 'The journal is from a newer release',
    summary: 'The database was written by a newer release.',
  },
  'journal-damaged': { title: 'The journal is damaged', summary: 'The file is not a valid database.' },
  'journal-unavailable': {
    title: 'The journal cannot be reached',
    summary: 'Opening, reading or writing the database file failed.',
  },
  'journal-replaced': {
    title: 'The journal was deleted or replaced',
    summary: 'The database file is not the one that this process opened.',
  },
  'disk-full': { title: 'The disk is full', summary: 'The disk had no space for an append. Nothing of it was stored.' },
  'chain-broken': { title: 'The journal was changed', summary: 'The hash chain of a run is broken.' },
  'replay-differs': {
    title: 'The replay differs',
    summary: 'The replay gave other events than the journal has.',
  },
  'invariant-broken': {
    title: 'The state is inconsistent',
    summary: 'The run was stopped, because its state breaks a law of the engine.',
  },

  // Runs
  'run-not-found': { title: 'No such run', summary: 'The journal has no run with this id.' },
  'bad-run-id': { title: 'Not a run id', summary: 'The run id contains characters that are not allowed.' },
  'bad-start': {
    title: 'The run cannot start',
    summary: 'The start has no compiled flow, or its input is not JSON.',
  },
  'run-exists': { title: 'The run id is taken', summary: 'A run with this id exists, with another flow or input.' },
  'run-ended': { title: 'The run has ended', summary: 'The run has ended and cannot be changed.' },
  'lease-lost': {
    title: 'The lease was lost',
    summary: 'Another process owns the run now. This one stopped before it acted.',
  },
  'code-changed': {
    title: 'The code has changed',
    summary: 'A module of the run is not what it was when the run started.',
  },
  'scripted-run': {
    title: 'The run started with a script',
    summary: 'An engine without a script cannot continue a run that started with one. Nothing was recorded.',
  },
  'unsafe-module': {
    title: 'The module can be changed by an agent',
    summary: 'A module of the document, or a program that it names, lies in the work directory of the run.',
  },
  'bad-fork': {
    title: 'The run cannot be forked there',
    summary: 'The run has no such event, or has ended or is stopping there.',
  },
  'bad-migration': {
    title: 'The run does not fit the new version',
    summary: 'The position or the values of the run do not fit the new version of its flow. Nothing was changed.',
  },
  'unknown-slot': {
    title: 'No such slot',
    summary: 'An edit names a slot that the run does not have at that event.',
  },
  'wrong-tenant': {
    title: 'The run belongs to another tenant',
    summary: 'A run was started or changed for another tenant than the one that the engine works for.',
  },
  'memory-violation': {
    title: 'The memory belongs to another owner',
    summary: 'A caller asked for a memory entry of another tenant, user or agent.',
  },
  'memory-not-found': { title: 'No such memory entry', summary: 'The memory has no entry with this id.' },
  'quota-exceeded': {
    title: 'The quota of the tenant is used up',
    summary: 'The run needs more runs, tokens or dollars than the quota of its tenant has left. Nothing was spent.',
  },
  'bad-quota': {
    title: 'The quota is not valid',
    summary: 'A quota has an unknown field, no limit, or a value that is not a number.',
  },
  'bad-signing-key': {
    title: 'The signing key cannot be used',
    summary: 'A key for signed checkpoints is not an Ed25519 key in the expected form.',
  },
  'not-delivered': {
    title: 'The receiver did not take it',
    summary: 'A webhook could not be reached, or answered with an error.',
  },
  'engine-closed': { title: 'The engine is closed', summary: 'A call came after `close`.' },
  'value-too-large': {
    title: 'A value is too large',
    summary: 'An input, an output or a result is larger than the journal stores.',
  },

  'bad-attachment': {
    title: 'The attachment cannot be used',
    summary: 'An image or a file of the input is missing, too large, outside of its folder, or of another type.',
  },
  'attachment-not-taken': {
    title: 'No model takes the attachment',
    summary: 'The input has an image or a file, and no model of the document takes that kind.',
  },

  // People
  'approval-not-found': { title: 'No such approval', summary: 'No open approval has this id.' },
  'approval-closed': { title: 'Already answered', summary: 'The approval was answered, cancelled or has expired.' },
  'bad-answer': {
    title: 'The answer is not valid',
    summary: 'The edit that belongs to the choice is missing or not valid.',
  },
  'not-a-choice': {
    title: 'Not one of the choices',
    summary: 'The answer is not one of the choices of the approval.',
  },
  'stale-payload': {
    title: 'The question has changed',
    summary: 'The answer belongs to an earlier version of the question.',
  },
  'self-approval': {
    title: 'The asker may not approve',
    summary: 'The answer has the name of the agent or flow that asked, or of the user for whom the run was started.',
  },
  'not-an-approver': {
    title: 'Not an approver',
    summary: 'The person is not among those who may answer the question.',
  },
  'identity-unproven': {
    title: 'The identity is not proven',
    summary: 'The answer is not signed with the key of the person, or comes from another user of the machine.',
  },
  'already-answered': {
    title: 'Answered by the same person',
    summary: 'The person has given this answer before, and another person must agree.',
  },
  'bad-key-file': {
    title: 'The key file cannot be used',
    summary: 'The file is missing, holds no Ed25519 private key, or already exists.',
  },
  'signal-not-awaited': {
    title: 'No wait for this signal',
    summary: 'The run does not wait for a signal of this name now.',
  },

  // Models and tools
  'missing-package': {
    title: 'An optional package is not installed',
    summary: 'The flow needs a package that is installed only where it is needed.',
  },
  'no-model': {
    title: 'No model',
    summary: 'An agent names no model, and the command and the environment name none either.',
  },
  'no-credentials': {
    title: "The provider's key is missing",
    summary: 'The environment variable with the key of the provider is not set.',
  },
  'no-implementation': {
    title: 'The tool has no implementation',
    summary: 'The tool has no implementation, and no script provides its results.',
  },
} as const satisfies { readonly [code: string]: { readonly title: string; readonly summary: string } };

type ErrorCode = keyof typeof ERROR_CODES;

export function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(ERROR_CODES, code);
}
