/**
 * The shape of CustomResourceDefinition. Numbers are those of the published protobuf files.
 *
 * A schema contains schemas, so its shape is recursive. Members that may be a schema or another
 * value (`items`, `additionalProperties`, `dependencies`) are any JSON here; the decoder of a CRD
 * reads them.
 */
import { objectMeta } from "./meta.ts";
import {
  bool,
  bytes,
  double,
  type Field,
  int32,
  int64,
  json,
  jsonUnion,
  list,
  listMap,
  type MessageShape,
  map,
  message,
  set,
  string,
  time,
  zeroless,
} from "./shape.ts";

const apiextensions = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1";

const validationRule = message(
  `${apiextensions}.ValidationRule`,
  {
    rule: [1, string, "The CEL expression that must be true."],
    message: [2, string, "What is said when it is not."],
    messageExpression: [3, string, "A CEL expression that makes the message."],
    reason: [4, string, "The reason that a failure is reported with."],
    fieldPath: [5, string, "The field that a failure is reported at."],
    optionalOldSelf: [6, bool, "Whether the rule also runs where there is no old value."],
  },
  "A rule in the language CEL.",
);

const externalDocumentation = message(`${apiextensions}.ExternalDocumentation`, {
  description: [1, string],
  url: [2, string],
});

/** Made in two steps, because it refers to itself. */
export const jsonSchemaProps: MessageShape = message(
  `${apiextensions}.JSONSchemaProps`,
  {},
  "A JSON schema, as far as Kubernetes supports it.",
  {},
);

const schemaOrSchemas = jsonUnion({ shape: jsonSchemaProps, one: 1, many: 2 });
const schemaOrFlag = jsonUnion({ shape: jsonSchemaProps, one: 2, flag: 1 });
const schemaOrWords = jsonUnion({ shape: jsonSchemaProps, one: 1, words: 2 });

const schemas = list(jsonSchemaProps);
const schemaMap = map(jsonSchemaProps);

const schemaFields = message("", {
  id: [1, string],
  $schema: [2, string],
  $ref: [3, string],
  description: [4, string],
  type: [5, string],
  format: [6, string],
  title: [7, string],
  default: [8, json, "The value of an absent field."],
  maximum: [9, double],
  exclusiveMaximum: [10, zeroless(bool)],
  minimum: [11, double],
  exclusiveMinimum: [12, zeroless(bool)],
  maxLength: [13, int64],
  minLength: [14, int64],
  pattern: [15, string],
  maxItems: [16, int64],
  minItems: [17, int64],
  uniqueItems: [18, zeroless(bool)],
  multipleOf: [19, double],
  enum: [20, list(json)],
  maxProperties: [21, int64],
  minProperties: [22, int64],
  required: [23, list(string)],
  items: [24, schemaOrSchemas, "The schema of the items of an array."],
  allOf: [25, schemas],
  oneOf: [26, schemas],
  anyOf: [27, schemas],
  not: [28, jsonSchemaProps],
  properties: [29, schemaMap],
  additionalProperties: [
    30,
    schemaOrFlag,
    "The schema of members that are not named, or whether there may be any.",
  ],
  patternProperties: [31, schemaMap],
  dependencies: [32, map(schemaOrWords)],
  additionalItems: [33, schemaOrFlag],
  definitions: [34, schemaMap],
  externalDocs: [35, externalDocumentation],
  example: [36, json],
  nullable: [37, zeroless(bool), "Whether null is a value."],
  "x-kubernetes-preserve-unknown-fields": [38, bool, "Keeps fields that the schema does not name."],
  "x-kubernetes-embedded-resource": [39, zeroless(bool), "The value is a whole object."],
  "x-kubernetes-int-or-string": [40, zeroless(bool), "The value is an integer or a string."],
  "x-kubernetes-list-map-keys": [41, list(string), "What tells the items of a list apart."],
  "x-kubernetes-list-type": [42, string, "atomic, set or map."],
  "x-kubernetes-map-type": [43, string, "granular or atomic."],
  "x-kubernetes-validations": [44, listMap(validationRule, "rule"), "Rules in the language CEL."],
});
for (const field of schemaFields.fields.values()) {
  (jsonSchemaProps.fields as Map<string, Field>).set(field.name, field);
  (jsonSchemaProps.byNumber as Map<number, Field>).set(field.number, field);
}

const names = message(`${apiextensions}.CustomResourceDefinitionNames`, {
  plural: [1, string, "The name in paths, in lower case."],
  singular: [2, string, "The name of one object, in lower case."],
  shortNames: [3, list(string), "Abbreviations for people who type."],
  kind: [4, string, "The name in objects, in CamelCase."],
  listKind: [5, string, "The name in lists."],
  categories: [6, list(string), "Groups of resources, such as all."],
});

const serviceReference = message(`${apiextensions}.ServiceReference`, {
  namespace: [1, string, "Namespace of the service."],
  name: [2, string, "Name of the service."],
  path: [3, string, "The path that is called."],
  port: [4, int32, "The port that is called; 443 by default."],
});

const webhookConversion = message(
  `${apiextensions}.WebhookConversion`,
  {
    clientConfig: [
      2,
      message(`${apiextensions}.WebhookClientConfig`, {
        service: [1, serviceReference, "The service that is called."],
        caBundle: [2, bytes, "The authorities that vouch for the webhook, as PEM in base64."],
        url: [3, string, "Where the webhook is, when it is no service."],
      }),
      "How the webhook is called.",
    ],
    conversionReviewVersions: [3, list(string), "The versions of ConversionReview that it knows."],
  },
  "",
  { keepsEmpty: ["conversionReviewVersions"] },
);

const printerColumn = message(
  `${apiextensions}.CustomResourceColumnDefinition`,
  {
    name: [1, string, "The title of the column."],
    type: [2, string, "The type of its cells."],
    format: [3, string, "The format of its cells."],
    description: [4, string, "What the column shows."],
    priority: [5, zeroless(int32), "Columns above 0 are shown in wide output only."],
    jsonPath: [6, string, "Where the value is."],
  },
  "",
  {},
);

const subresources = message(`${apiextensions}.CustomResourceSubresources`, {
  status: [
    1,
    message(`${apiextensions}.CustomResourceSubresourceStatus`, {}),
    "Serves /status on its own.",
  ],
  scale: [
    2,
    message(`${apiextensions}.CustomResourceSubresourceScale`, {
      specReplicasPath: [1, string, "Where the wanted number of replicas is."],
      statusReplicasPath: [2, string, "Where the present number of replicas is."],
      labelSelectorPath: [3, string, "Where the label selector of the replicas is."],
    }),
    "Serves /scale.",
  ],
});

const version = message(
  `${apiextensions}.CustomResourceDefinitionVersion`,
  {
    name: [1, string, "The name of the version, such as v1beta1."],
    served: [2, bool, "Whether the version is served."],
    storage: [3, bool, "Whether objects are stored in this version."],
    schema: [
      4,
      message(`${apiextensions}.CustomResourceValidation`, {
        openAPIV3Schema: [1, jsonSchemaProps, "What objects look like."],
      }),
      "What objects look like.",
    ],
    subresources: [5, subresources, "Endpoints below the object."],
    additionalPrinterColumns: [6, list(printerColumn), "Columns of tables."],
    deprecated: [7, zeroless(bool), "Whether clients are warned off this version."],
    deprecationWarning: [8, string, "What they are told."],
    selectableFields: [
      9,
      list(
        message(`${apiextensions}.SelectableField`, {
          jsonPath: [1, string, "Where the field is."],
        }),
      ),
      "Fields that field selectors may use.",
    ],
  },
  "",
  {},
);

const condition = message(
  `${apiextensions}.CustomResourceDefinitionCondition`,
  {
    type: [1, string, "What the condition is about."],
    status: [2, string, "True, False or Unknown."],
    lastTransitionTime: [3, time, "When the status last changed."],
    reason: [4, string, "A word for programs."],
    message: [5, string, "A sentence for people."],
    observedGeneration: [6, zeroless(int64), "The generation that the condition is about."],
  },
  "",
  {},
);

export const customResourceDefinition: MessageShape = message(
  `${apiextensions}.CustomResourceDefinition`,
  {
    metadata: [1, objectMeta, "Standard object metadata."],
    spec: [
      2,
      message(
        `${apiextensions}.CustomResourceDefinitionSpec`,
        {
          group: [1, string, "The API group."],
          names: [3, names, "What the resource and its kind are called."],
          scope: [4, string, "Cluster or Namespaced."],
          versions: [7, list(version), "The versions of the kind."],
          conversion: [
            9,
            message(`${apiextensions}.CustomResourceConversion`, {
              strategy: [1, string, "None or Webhook."],
              webhook: [2, webhookConversion, "How the webhook is called."],
            }),
            "How objects get from one version to another.",
          ],
          preserveUnknownFields: [10, zeroless(bool), "Must be false."],
        },
        "",
        { keepsEmpty: ["versions"] },
      ),
      "How the resource is to be served.",
    ],
    status: [
      3,
      message(
        `${apiextensions}.CustomResourceDefinitionStatus`,
        {
          conditions: [1, listMap(condition, "type"), "How far serving has come."],
          acceptedNames: [2, names, "The names that are in use."],
          storedVersions: [3, set(string), "The versions in which objects may be stored."],
          observedGeneration: [4, zeroless(int64), "The generation that was last looked at."],
        },
        "",
        { keepsEmpty: ["conditions", "storedVersions"] },
      ),
      "How the resource is served.",
    ],
  },
  "A resource that a cluster serves because somebody defined it there.",
);
