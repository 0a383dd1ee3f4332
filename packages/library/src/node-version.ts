/** Refuses a Node that is too old, before anything else is loaded. */
const NEEDED = [22, 13] as const;

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < NEEDED[0] || (major === NEEDED[0] && minor < NEEDED[1]))
  throw new Error(`sluice needs Node ${NEEDED.join('.')} or newer, and this is ${process.version}`);

/**
 * The oldest Node that this release runs on.
 * @example
 * console.log(`Node ${MINIMUM_NODE} or newer`);
 */
export const MINIMUM_NODE: string = NEEDED.join('.');
