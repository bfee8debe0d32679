/** The kinds of apis.kcp.io as resources: the rules that their schemas cannot express. */
import { exportedDefinitionErrors, systemDefinition } from "@kcp-ts/apiserver/custom-resources";
import {
  type Draft,
  type ResourceDefinition,
  runValidation,
  type Strategy,
  type SubresourceStrategy,
} from "@kcp-ts/apiserver/registry";
import type { Resumable } from "@kcp-ts/machinery/base";
import { isJsonObject, type JsonObject, listOf, textOf } from "@kcp-ts/machinery/json";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import { member, overriding } from "../../workspaces/index.ts";
import {
  bindingKind,
  bindingKindV1alpha1,
  conversionKind,
  endpointSliceKind,
  exportKind,
  exportKindV1alpha1,
  resourceSchemaKind,
} from "./schemas.ts";
import { groupInName, toCustomResourceDefinition } from "./to-custom-resource-definition.ts";
import { bindingCodecV1alpha1, exportCodecV1alpha1 } from "./versions.ts";

const plainSchemas = systemDefinition(resourceSchemaKind);

export const apiResourceSchemas: ResourceDefinition = {
  ...plainSchemas,
  strategy: overriding(plainSchemas, {
    *validate(object) {
      const errors = plainSchemas.strategy.validate(object);
      const general = Array.isArray(errors) ? errors : yield* errors;
      yield;
      return [...general, ...(yield* schemaErrors(object))];
    },
  }),
};

function specName(object: JsonObject) {
  return member(object, "metadata")["name"];
}

const prefixPattern = /^[a-z]([-a-z0-9]*[a-z0-9])?$/;

function* schemaErrors(object: JsonObject): Resumable<FieldError[]> {
  const spec = member(object, "spec");
  const name = textOf(specName(object));
  const group = textOf(spec["group"]);
  const plural = textOf(member(spec, "names")["plural"]);
  const ending = `.${plural}.${groupInName(group)}`;
  const errors: FieldError[] = [];
  if (!name.endsWith(ending))
    errors.push(fieldError.invalid("metadata.name", name, `must end in ${ending}`));
  else if (!prefixPattern.test(name.slice(0, -ending.length)))
    errors.push(
      fieldError.invalid(
        "metadata.name",
        name,
        `must match ${prefixPattern.source} in the beginning`,
      ),
    );
  if (group === "core")
    errors.push(fieldError.invalid("spec.group", group, "must be empty string for the core group"));
  if (
    member(member(member(spec, "conversion"), "webhook"), "clientConfig")["service"] !== undefined
  )
    errors.push(
      fieldError.forbidden(
        "spec.conversion.webhook.clientConfig.service",
        "services are not supported, use url",
      ),
    );
  if (errors.length > 0) return errors;
  const found = yield* exportedDefinitionErrors(toCustomResourceDefinition(object));
  return found.map((error) => ({
    ...error,
    field: error.field.replace(/\.schema\.openAPIV3Schema/, ".schema"),
  }));
}

/** Only the system writes the status: admission sets it on a create, and the controller later. */
function withOwnStatus(plain: ResourceDefinition, own: Partial<Strategy> = {}): ResourceDefinition {
  return {
    ...plain,
    waitsForOwnWrite: true,
    strategy: overriding(plain, {
      prepareForCreate(draft) {
        (draft["metadata"] as Draft)["generation"] = 1;
      },
      ...own,
    }),
  };
}

const plainExports = systemDefinition(exportKind);

export const apiExports: ResourceDefinition = withOwnStatus(plainExports, {
  validate: (object) => [
    ...runValidation(plainExports.strategy.validate(object)),
    ...exportErrors(object),
  ],
  validateUpdate: (updated, old) => [
    ...runValidation(plainExports.strategy.validateUpdate(updated, old)),
    ...exportErrors(updated),
  ],
});

function exportErrors(object: JsonObject): FieldError[] {
  const errors: FieldError[] = [];
  for (const [index, resource] of listOf(member(object, "spec")["resources"]).entries()) {
    if (!isJsonObject(resource)) continue;
    const schema = textOf(resource["schema"]);
    const ending = `.${textOf(resource["name"])}.${groupInName(textOf(resource["group"]))}`;
    if (!schema.endsWith(ending))
      errors.push(
        fieldError.invalid(`spec.resources[${index}].schema`, schema, `must end in ${ending}`),
      );
    const storage = member(resource, "storage");
    if (storage["crd"] !== undefined && storage["virtual"] !== undefined)
      errors.push(
        fieldError.invalid(
          `spec.resources[${index}].storage`,
          "",
          "exactly one of crd or virtual must be set",
        ),
      );
  }
  return errors;
}

const plainBindings = systemDefinition(bindingKind);

export const apiBindings: ResourceDefinition = withOwnStatus(plainBindings);

const { group, resource, identity } = plainExports;
const bindingCollection = { group, resource: plainBindings.resource, identity };

export const apiExportsV1alpha1: ResourceDefinition = {
  ...withOwnStatus(systemDefinition(exportKindV1alpha1)),
  storageVersion: exportKind.version,
  codec: exportCodecV1alpha1,
  storedAs: { group, resource, identity },
};

export const apiBindingsV1alpha1: ResourceDefinition = {
  ...withOwnStatus(systemDefinition(bindingKindV1alpha1)),
  storageVersion: bindingKind.version,
  codec: bindingCodecV1alpha1,
  storedAs: bindingCollection,
};

export const apiExportEndpointSlices: ResourceDefinition = withOwnStatus(
  systemDefinition(endpointSliceKind),
);
export const apiConversions: ResourceDefinition = systemDefinition(conversionKind);

/** In the order of discovery: the preferred version of each kind first. */
export const apiSharingKinds: readonly ResourceDefinition[] = [
  apiBindings,
  apiExports,
  apiBindingsV1alpha1,
  apiConversions,
  apiExportEndpointSlices,
  apiExportsV1alpha1,
  apiResourceSchemas,
];

/** The strategy of the server's own writes: any field of the object, without update validation. */
export const systemWrite: SubresourceStrategy = {
  verbs: [],
  prepareForUpdate: () => {},
  validateUpdate: () => [],
};
