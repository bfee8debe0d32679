/** The corpus, topic by topic. Topics share a server but no namespace and no definition. */
import type { CorpusTopic } from "../corpus-request.ts";
import { admission } from "./admission.ts";
import { applies } from "./applies.ts";
import { creation } from "./creation.ts";
import { customEdges } from "./custom-edges.ts";
import { customResources } from "./custom-resources.ts";
import { customVersions } from "./custom-versions.ts";
import { definitions } from "./definitions.ts";
import { deletion } from "./deletion.ts";
import { discovery } from "./discovery.ts";
import { fields } from "./fields.ts";
import { mutatingPolicies } from "./mutating-policies.ts";
import { namespaces } from "./namespaces.ts";
import { nativeEdges } from "./native-edges.ts";
import { nativeKinds } from "./native-kinds.ts";
import { nativeWarnings } from "./native-warnings.ts";
import { patches } from "./patches.ts";
import { reads } from "./reads.ts";
import { records } from "./records.ts";
import { releases } from "./releases.ts";
import { reviews } from "./reviews.ts";
import { roles } from "./roles.ts";
import { times } from "./times.ts";
import { tokens } from "./tokens.ts";
import { traffic } from "./traffic.ts";
import { updates } from "./updates.ts";
import { validatingPolicies } from "./validating-policies.ts";
import { validation } from "./validation.ts";
import { watches } from "./watches.ts";
import { webhooks } from "./webhooks.ts";
import { workloads } from "./workloads.ts";

export const corpus: readonly CorpusTopic[] = [
  creation,
  reads,
  updates,
  patches,
  applies,
  deletion,
  validation,
  watches,
  namespaces,
  records,
  definitions,
  customResources,
  customVersions,
  discovery,
  releases,
  roles,
  reviews,
  tokens,
  admission,
  traffic,
  customEdges,
  workloads,
  ...nativeKinds,
  nativeWarnings,
  nativeEdges,
  ...fields,
  webhooks,
  validatingPolicies,
  mutatingPolicies,
  times,
];
