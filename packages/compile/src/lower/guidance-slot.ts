/** The remarks that agents have heard, as messages: `{ role, content, by, to }`. `to` is the agent that heard it. */
export const GUIDANCE = 'guidance';
