/** What other packages use of `tools/mcp`. */
export { mcpTools } from './client.ts';
export { discoverMcp, lockDifferences, mcpDifferences, serverOf } from './discover.ts';
export type { Servers } from './discover.ts';
export { login } from './login.ts';
