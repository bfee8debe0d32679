/** What programs for `@kubernetes/client-node` find here under the same names. For Node. */
export {
  type ClientNodeInformer,
  type ExportsConfig,
  type InformerVerb,
  makeInformer,
} from "./make-informer.ts";
