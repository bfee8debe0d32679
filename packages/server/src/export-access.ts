/** What somebody may do with an export: bind to it, whatever else they may where it is, and see to what its consumers have. */
import type { ClusterName } from "@kcp-ts/machinery/names";
import { apiExports } from "./api-sharing/index.ts";
import type { Authorizer } from "./authorization/index.ts";
import type { MaybePromise } from "./request/api-request.ts";
import type { UserInfo } from "./request/user.ts";

export type ExportAccess = (
  user: UserInfo,
  cluster: ClusterName,
  name: string,
  verb?: string,
) => MaybePromise<boolean>;

/** The verb `bind` on the export. */
export function bindingToExport(authorizer: Authorizer): ExportAccess {
  return (user, cluster, name) => ask(authorizer, { user, cluster, name, verb: "bind" }, "");
}

/** Any verb on the export's `content`: what its consumers have. */
export function contentOfExport(authorizer: Authorizer): ExportAccess {
  return (user, cluster, name, verb = "get") =>
    ask(authorizer, { user, cluster, name, verb }, "content");
}

interface Question {
  readonly user: UserInfo;
  readonly cluster: ClusterName;
  readonly name: string;
  readonly verb: string;
}

function ask(
  authorizer: Authorizer,
  question: Question,
  subresource: string,
): MaybePromise<boolean> {
  const { group, version, resource } = apiExports;
  const path = `/apis/${group}/${version}/${resource}/${question.name}`;
  const decision = authorizer.authorize({
    ...question,
    group,
    version,
    resource,
    subresource,
    namespace: "",
    path: subresource === "" ? path : `${path}/${subresource}`,
    isResourceRequest: true,
  });
  return decision instanceof Promise ? decision.then(({ allowed }) => allowed) : decision.allowed;
}
