/** What other packages use of `tools/calls`. */
export { AttachmentError, attachForTools, readAttachment } from './attachments.ts';
export { codeTools } from './code.ts';
export { fileTools } from './files.ts';
export { httpTools } from './http.ts';
export { Attachment, attachInput, attachment, mayHoldAttachments, requireTaken } from './input.ts';
export type { AttachInputOptions, RunInput } from './input.ts';
export { jsonTools } from './json.ts';
export { moduleTools } from './module.ts';
export type { ModuleContext, ModuleTool } from './module.ts';
export { logChange, noteTools } from './notes.ts';
export { calledTools, callerOf, missingPrerequisites, missingServers, unloadableModules } from './prerequisites.ts';
export type { Missing, RealCalls } from './prerequisites.ts';
export { shellRunner } from './sandbox.ts';
export { searchTools } from './search.ts';
export { shellTools } from './shell.ts';
export { secretsFor, withoutSecrets } from './template.ts';
export type {
  Args,
  HttpOptions,
  McpServer,
  ResourceLimits,
  ToolCall,
  ToolKind,
  ToolOptions,
  ToolWork,
} from './tool.ts';
export type { ToolContext, ToolFunction } from './function.ts';
export { withHeartbeat } from './heartbeat.ts';
export type { Beat } from './heartbeat.ts';
