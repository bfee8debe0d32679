/** A write as admission sees it. */
import { isJsonObject } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import type { AdmissionRequest, Operation } from "../admission/index.ts";
import type { Build, Draft, Validator } from "../registry/index.ts";
import type { UserInfo } from "../request/user.ts";
import { type HandlerRequest, type HandlerRooms, oneCluster } from "./context.ts";

/** A class, because the signal must stay unmade until somebody asks for it. */
class HandledAdmission implements AdmissionRequest {
  readonly operation: Operation;
  readonly cluster: ClusterName;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly kind: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  readonly user: UserInfo;
  readonly isDryRun: boolean;
  readonly #handled: HandlerRequest;

  constructor(handled: HandlerRequest, operation: Operation, isDryRun: boolean, address: Address) {
    const { scope, definition } = handled;
    this.#handled = handled;
    this.operation = operation;
    this.cluster = oneCluster(scope);
    this.group = definition.group;
    this.version = definition.version;
    this.resource = definition.resource;
    this.kind = definition.kind;
    this.subresource = scope.subresource;
    this.namespace = definition.isNamespaced ? address.namespace : "";
    this.name = address.name;
    this.user = handled.user;
    this.isDryRun = isDryRun;
  }

  get signal(): AbortSignal {
    return this.#handled.signal;
  }
}

interface Address {
  readonly namespace: string;
  readonly name: string;
}

export function admissionRequest(
  handled: HandlerRequest,
  operation: Operation,
  isDryRun: boolean,
  address: Address = handled.scope,
): AdmissionRequest {
  return new HandledAdmission(handled, operation, isDryRun, address);
}

/** Where an object that is to be created will be, as far as its sender has said. */
export function addressOf({ scope }: HandlerRequest, draft: Draft): Address {
  const { metadata } = draft;
  const name =
    isJsonObject(metadata) && typeof metadata["name"] === "string" ? metadata["name"] : "";
  return { namespace: scope.namespace, name };
}

/** The wanted object as plug-ins want it. They get a copy of their own for each try, because a build may hand out what it keeps. */
export function mutating(
  { admission }: HandlerRooms,
  request: AdmissionRequest,
  build: Build,
): Build {
  if (!admission.isMutating) return build;
  return async (old) => {
    const draft = structuredClone(await build(old));
    await admission.mutate(request, draft, old);
    return draft;
  };
}

/** Admission's last word, as the registry wants it. */
export function validatorFor({ admission }: HandlerRooms, request: AdmissionRequest): Validator {
  return (object, old) => admission.validate(request, object, old);
}
