/** What other packages use of `compile/picture`. */
export { renderDot } from './dot.ts';
export { withFrames } from './frames.ts';
export { renderMermaid } from './mermaid.ts';
export { END, START, edgeShape, shape } from './picture.ts';
export type { Direction, Picture, PictureCycle, PictureEdge, PictureNode, ShapeKind } from './picture.ts';
export { renderSvg } from './svg/svg.ts';
export { placePicture } from './svg/placed-picture.ts';
export type { PlacedNode, PlacedPicture } from './svg/placed-picture.ts';
