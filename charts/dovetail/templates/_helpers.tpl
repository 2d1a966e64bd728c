{{- define "dovetail.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* The release's name says enough where it contains the chart's. */}}
{{- define "dovetail.fullname" -}}
{{- $name := .Values.nameOverride | default .Chart.Name -}}
{{- $full := contains $name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name $name) -}}
{{- .Values.fullnameOverride | default $full | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "dovetail.serviceAccountName" -}}
{{- .Values.serviceAccount.name | default (ternary (include "dovetail.fullname" .) "default" .Values.serviceAccount.create) -}}
{{- end -}}

{{- define "dovetail.selectorLabels" -}}
app.kubernetes.io/name: {{ include "dovetail.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{- define "dovetail.labels" -}}
{{- with .Values.additionalLabels }}
{{- toYaml . | nindent 0 }}
{{- end }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" | quote }}
{{ include "dovetail.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service | quote }}
{{- end -}}

{{/* What every object's metadata has: a dict of `root`, `name`, and if wanted `suffix`, `namespace`, `labels`, `annotations`. */}}
{{- define "dovetail.metadata" -}}
{{- $root := .root -}}
name: {{ .name | quote }}
{{- with .namespace }}
namespace: {{ . | quote }}
{{- end }}
labels:
  {{- include "dovetail.labels" $root | trim | nindent 2 }}
  {{- with .labels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with mergeOverwrite (dict) (.root.Values.additionalAnnotations | default dict) (.annotations | default dict) }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "dovetail.image" -}}
{{- $image := .Values.controller.image -}}
{{- printf "%s:%s" $image.repository ($image.tag | default .Chart.AppVersion) -}}
{{- with $image.digest }}@{{ . }}{{ end -}}
{{- end -}}

{{/* A value as text for the environment: whole numbers stay whole. */}}
{{- define "dovetail.text" -}}
{{- if not (kindIs "float64" .) }}{{ toString . }}
{{- else if eq (float64 (int64 .)) . }}{{ int64 . }}
{{- else }}{{ regexReplaceAll "0+$" (printf "%.9f" .) "" }}{{ end -}}
{{- end -}}

{{/* What the environment says, by name; a setting that is null is left to the program. */}}
{{- define "dovetail.environment" -}}
{{- $settings := dict
  "AMI_REFRESH_INTERVAL" "amiRefreshInterval"
  "BATCH_IDLE_DURATION" "batchIdleDuration"
  "BATCH_MAX_DURATION" "batchMaxDuration"
  "CLUSTER_CA_BUNDLE" "clusterCABundle"
  "CLUSTER_ENDPOINT" "clusterEndpoint"
  "CLUSTER_NAME" "clusterName"
  "DISABLE_CLUSTER_STATE_OBSERVABILITY" "disableClusterStateObservability"
  "DISABLE_CONTROLLER_WARMUP" "disableControllerWarmup"
  "DISABLE_DRY_RUN" "disableDryRun"
  "DISABLE_LEADER_ELECTION" "disableLeaderElection"
  "DOVETAIL_DASHBOARD_HOST" "dashboardHost"
  "DOVETAIL_DASHBOARD_PORT" "dashboardPort"
  "DOVETAIL_DELETION_COSTS" "deletionCosts"
  "DOVETAIL_DISCOURAGE_SCHEDULING" "discourageScheduling"
  "DOVETAIL_EVICTION_COST" "evictionCost"
  "DOVETAIL_LEAST_SAVING_PER_EVICTION" "leastSavingPerEviction"
  "DOVETAIL_MOST_EVICTIONS_PER_DAY" "mostEvictionsPerDay"
  "DOVETAIL_NODE_PRICE" "nodePrice"
  "EKS_CONTROL_PLANE" "eksControlPlane"
  "ENABLE_PROFILING" "enableProfiling"
  "ENABLE_ZONAL_SHIFT" "enableZonalShift"
  "IGNORE_DRA_REQUESTS" "ignoreDRARequests"
  "INTERRUPTION_QUEUE" "interruptionQueue"
  "ISOLATED_VPC" "isolatedVPC"
  "KUBE_CLIENT_BURST" "kubeClientBurst"
  "KUBE_CLIENT_QPS" "kubeClientQPS"
  "LEADER_ELECTION_NAME" "leaderElectionName"
  "MIN_VALUES_POLICY" "minValuesPolicy"
  "PREFERENCE_POLICY" "preferencePolicy"
  "REPLACE_ON_REBALANCE_RECOMMENDATION" "replaceOnRebalanceRecommendation"
  "RESERVED_ENIS" "reservedENIs"
  "SUBNET_REFRESH_INTERVAL" "subnetRefreshInterval"
  "VM_MEMORY_OVERHEAD_PERCENT" "vmMemoryOverheadPercent"
-}}
{{- $said := dict
  "KARPENTER_SERVICE" (include "dovetail.fullname" .)
  "METRICS_PORT" (include "dovetail.text" .Values.controller.metrics.port)
  "HEALTH_PROBE_PORT" (include "dovetail.text" .Values.controller.healthProbe.port)
-}}
{{- range $name, $key := $settings -}}
  {{- $value := get $.Values.settings $key -}}
  {{- if and (hasKey $.Values.settings $key) (not (kindIs "invalid" $value)) -}}
    {{- $_ := set $said $name (include "dovetail.text" $value) -}}
  {{- end -}}
{{- end -}}
{{- $gates := list -}}
{{- range $gate, $is_on := .Values.settings.featureGates | default dict -}}
  {{- $gates = append $gates (printf "%s%s=%t" (substr 0 1 $gate | upper) (substr 1 -1 $gate) $is_on) -}}
{{- end -}}
{{- with $gates }}{{ $_ := set $said "FEATURE_GATES" (join "," .) }}{{ end -}}
{{- $cel := get (.Values.settings.awsFeatureGates | default dict) "nodeClassCEL" -}}
{{- if not (kindIs "invalid" $cel) }}{{ $_ := set $said "AWS_FEATURE_GATES" (printf "NodeClassCEL=%t" $cel) }}{{ end -}}
{{- if not (kindIs "invalid" .Values.logLevel) }}{{ $_ := set $said "LOG_LEVEL" .Values.logLevel }}{{ end -}}
{{- with .Values.logOutputPaths }}{{ $_ := set $said "LOG_OUTPUT_PATHS" (join "," .) }}{{ end -}}
{{- with .Values.logErrorOutputPaths }}{{ $_ := set $said "LOG_ERROR_OUTPUT_PATHS" (join "," .) }}{{ end -}}
{{- with .Values.settings.instanceTypesFilePath }}{{ $_ := set $said "INSTANCE_TYPES_FILE_PATH" . }}{{ end -}}
{{- with .Values.settings.schedulerConfig }}{{ $_ := set $said "SCHEDULER_CONFIG" "/etc/dovetail/scheduler.yaml" }}{{ end -}}
{{- range $name, $value := $said }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end -}}

{{/* Terms and constraints about pods get our own selector where they have none. */}}
{{- define "dovetail.affinity" -}}
{{- $affinity := deepCopy .Values.affinity -}}
{{- $selector := dict "matchLabels" (include "dovetail.selectorLabels" . | fromYaml) -}}
{{- range $kind := list "podAffinity" "podAntiAffinity" -}}
  {{- $rules := get $affinity $kind | default dict -}}
  {{- range $term := get $rules "requiredDuringSchedulingIgnoredDuringExecution" | default list -}}
    {{- if not (hasKey $term "labelSelector") }}{{ $_ := set $term "labelSelector" $selector }}{{ end -}}
  {{- end -}}
  {{- range $preferred := get $rules "preferredDuringSchedulingIgnoredDuringExecution" | default list -}}
    {{- $term := $preferred.podAffinityTerm -}}
    {{- if not (hasKey $term "labelSelector") }}{{ $_ := set $term "labelSelector" $selector }}{{ end -}}
  {{- end -}}
{{- end -}}
{{- toYaml $affinity -}}
{{- end -}}

{{- define "dovetail.topologySpreadConstraints" -}}
{{- $selector := dict "matchLabels" (include "dovetail.selectorLabels" . | fromYaml) -}}
{{- $constraints := list -}}
{{- range .Values.topologySpreadConstraints -}}
  {{- $one := deepCopy . -}}
  {{- if not (hasKey $one "labelSelector") }}{{ $_ := set $one "labelSelector" $selector }}{{ end -}}
  {{- $constraints = append $constraints $one -}}
{{- end -}}
{{- toYaml $constraints -}}
{{- end -}}

{{/* What the controller's container may do: nothing but run. */}}
{{- define "dovetail.securityContext" -}}
allowPrivilegeEscalation: false
capabilities:
  drop: [ALL]
privileged: false
readOnlyRootFilesystem: true
runAsGroup: 65532
runAsNonRoot: true
runAsUser: 65532
seccompProfile:
  type: RuntimeDefault
{{- end -}}
