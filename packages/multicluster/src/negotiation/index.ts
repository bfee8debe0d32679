/** What physical clusters have in common: imports are folded into one API, which is published as a CustomResourceDefinition. */
export { type ApiComparison, compareApis } from "./compare-apis.ts";
export {
  customResourceDefinitions,
  type Definition,
  type DefinitionVersion,
  definitionFor,
} from "./definitions.ts";
export {
  type ImportCompatibility,
  type ImportMember,
  type NegotiationResult,
  negotiateImports,
} from "./fold-imports.ts";
export { negotiatedInformer } from "./negotiated-informer.ts";
export {
  NegotiationController,
  type NegotiationOptions,
  retainedRecheckMs,
} from "./negotiation-controller.ts";
export { describeFindings, findingsShownMax, isPublished } from "./sayings.ts";
