/* What the viewer's modules know and TypeScript cannot see. */

/** `querySelector` returns an Element; the modules know which one they ask for. */
interface Element extends HTMLOrSVGElement {
  hidden: boolean;
  open: boolean;
  hash: string;
  click(): void;
  showModal(): void;
}
interface Node {
  data: string;
}
interface Window {
  SwaggerUIBundle(options: object): void;
}
