export { type NamespaceControllerOptions, namespaceController } from "./namespace/index.ts";
