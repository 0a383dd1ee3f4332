/** `sluice/client/fold`: the view of a run from its events, as the server computes it. */
export { foldEvents, startOfView } from '@sluice-internal/wire';
export type { Bar, NodeView, RunView, Visit } from '@sluice-internal/wire';
