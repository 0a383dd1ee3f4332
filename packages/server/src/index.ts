/** What other packages use of `server`. */
export type { RequestLine } from './app.ts';
export { withTokens } from './compose.ts';
export { ACCESS } from './auth/who.ts';
export type { Access } from './auth/who.ts';
export { serve } from './serve.ts';
export type { ServeOptions, Serving } from './serve.ts';
