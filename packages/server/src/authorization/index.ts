export { anyOf } from "./any-of.ts";
export type { Authorizer, Decision } from "./authorizer.ts";
export { bootstrapAuthorizer } from "./bootstrap-authorizer.ts";
export { forbidden, forbiddenMessage } from "./forbidden.ts";
export { type LogicalClusterSource, workspaceContent } from "./workspace-content.ts";
