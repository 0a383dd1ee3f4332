/** What other packages use of `library/documents`. */
export { harmless, unpadded } from '@sluice-internal/wire';
export { DEFAULT_DB, createCli, usage } from './context.ts';
export type { Cli, GlobalOptions } from './context.ts';
export { FAILED, OK, USAGE, statusOfRun, worst } from './exit-status.ts';
export type { ExitStatus } from './exit-status.ts';
export {
  DiagnosticsError,
  checkReport,
  countLine,
  failedCompile,
  mistakesIn,
  renderAll,
  requireFlow,
} from './diagnostics.ts';
export { toolTable } from './tool-table.ts';
export {
  compileAs,
  compileFile,
  definitionTools,
  flowIn,
  missingDiagnostics,
  modelDiagnostics,
  prerequisiteDiagnostics,
  readLock,
} from './document.ts';
export type { CompiledFile } from './document.ts';
export { readText } from './files.ts';
export {
  makeFolder,
  readDatabase,
  readHosts,
  readInstant,
  readJson,
  readNumber,
  readShellLimits,
  readSince,
  readWhole,
  readWorkDir,
  refuseEmptyOptions,
} from './option-values.ts';
export { createScreen } from './screen.ts';
export type { Colors, Screen } from './screen.ts';
export { loadScript } from './script.ts';
export {
  cut,
  dollars,
  fitted,
  framed,
  grouped,
  iso,
  oneLine,
  pad,
  plural,
  seconds,
  shellWord,
  shown,
  table,
  widthOf,
  wrap,
} from './text.ts';
