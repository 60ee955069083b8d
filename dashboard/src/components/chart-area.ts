/** Where inside of a chart its values are drawn, in pixels from the edges: beside the numbers and above the dates. */
export const AREA = { top: 8, right: 8, bottom: 30, left: 64 }
