/** EndpointSlices: the addresses behind a Service, in portions. Numbers are those of the published protobuf files. */
import {
  bool,
  int32,
  list,
  map,
  message,
  objectMeta,
  replacedByPatch,
  set,
  string,
} from "../shape/index.ts";
import { objectReference } from "./core-references.ts";

const group = "io.k8s.api.discovery.v1";

const endpointConditions = message(`${group}.EndpointConditions`, {
  ready: [1, bool],
  serving: [2, bool],
  terminating: [3, bool],
});

const forZone = message(
  `${group}.ForZone`,
  {
    name: [1, string],
  },
  "",
  { required: ["name"] },
);

const forNode = message(
  `${group}.ForNode`,
  {
    name: [1, string],
  },
  "",
  { required: ["name"] },
);

const endpointHints = message(`${group}.EndpointHints`, {
  forZones: [1, list(forZone)],
  forNodes: [2, list(forNode)],
});

const endpoint = message(
  `${group}.Endpoint`,
  {
    addresses: [1, replacedByPatch(set(string))],
    conditions: [2, endpointConditions],
    hostname: [3, string],
    targetRef: [4, objectReference],
    deprecatedTopology: [5, map(string)],
    nodeName: [6, string],
    zone: [7, string],
    hints: [8, endpointHints],
  },
  "",
  { required: ["addresses"] },
);

const endpointPort = message(
  `${group}.EndpointPort`,
  {
    name: [1, string],
    protocol: [2, string],
    port: [3, int32],
    appProtocol: [4, string],
  },
  "",
  { isAtomic: true },
);

export const endpointSlice = message(
  `${group}.EndpointSlice`,
  {
    metadata: [1, objectMeta],
    endpoints: [2, list(endpoint)],
    ports: [3, list(endpointPort)],
    addressType: [4, string],
  },
  "",
  { required: ["addressType"] },
);
