/**
 * API negotiation: the imports of all physical clusters are merged into one common API, which is
 * published as a CustomResourceDefinition.
 */
export { type ApiComparison, compareApis } from "./compare-apis.ts";
export { describeFindings, findingsShownMax, isPublished } from "./conditions.ts";
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
} from "./negotiate-imports.ts";
export { negotiatedInformer } from "./negotiated-informer.ts";
export {
  NegotiationController,
  type NegotiationOptions,
  retainedRecheckMs,
} from "./negotiation-controller.ts";
