/**
 * API negotiation: the imports of all physical clusters are merged into one common API, which is
 * published as a CustomResourceDefinition.
 */
export { isPublished } from "./conditions.ts";
export { definitionFor } from "./definitions.ts";
export { negotiatedInformer } from "./negotiated-informer.ts";
export { NegotiationController } from "./negotiation-controller.ts";
