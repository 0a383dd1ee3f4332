/** What other packages use of `server`. */
export { createApp } from './app.ts';
export type { AppOptions, RequestLine } from './app.ts';
export { withTokens } from './compose.ts';
export { ACCESS } from './auth/who.ts';
export type { Access } from './auth/who.ts';
export { DEFAULT_PORT, serve } from './serve.ts';
export type { ServeOptions, Serving } from './serve.ts';
