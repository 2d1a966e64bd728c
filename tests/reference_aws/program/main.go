// Answers, with the reference's own AWS packages, what it makes of instance types, node classes and claims.
//
// The first line of standard input holds the machines that EC2 describes. Each further line is a question;
// each gets one line of JSON.
package main

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"sort"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	awsv1 "github.com/aws/karpenter-provider-aws/pkg/apis/v1"
	"github.com/aws/karpenter-provider-aws/pkg/operator/options"
	"github.com/aws/karpenter-provider-aws/pkg/providers/amifamily"
	"github.com/aws/karpenter-provider-aws/pkg/providers/instancetype"
	"github.com/aws/karpenter-provider-aws/pkg/providers/launchtemplate"
	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	coreoptions "sigs.k8s.io/karpenter/pkg/operator/options"
)

type world struct {
	Region   string
	Machines []ec2types.InstanceTypeInfo
}

type settings struct {
	ClusterName             string
	ClusterEndpoint         string
	VMMemoryOverheadPercent float64
	ReservedENIs            int
	ReservedCapacity        bool
}

type question struct {
	Settings      settings
	NodeClass     awsv1.EC2NodeClass
	NodeClaim     *karpv1.NodeClaim
	InstanceTypes []string // whose labels and capacity are asked for
	Zones         []string
	CABundle      string
	ClusterCIDR   string
	DNSIP         string
	IPFamily      string
	CapacityType  string
	Tenancy       string
	Labels        map[string]string
	Tags          map[string]string
}

type requirement struct {
	Operator string
	Values   []string
}

type typeAnswer struct {
	Requirements      map[string]requirement
	Capacity          map[string]string
	KubeReserved      map[string]string
	SystemReserved    map[string]string
	EvictionThreshold map[string]string
}

type templateAnswer struct {
	Name          string
	InstanceTypes []string
	ImageID       string
	UserData      string
	Input         *ec2.CreateLaunchTemplateInput
}

type answer struct {
	Hash        string
	HashVersion string
	Types       map[string]typeAnswer
	Templates   []templateAnswer
	Error       string
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(make([]byte, 0, 1<<20), 1<<28)
	out := json.NewEncoder(os.Stdout)
	if !lines.Scan() {
		fail(fmt.Errorf("no machines on standard input"))
	}
	var given world
	if err := json.Unmarshal(lines.Bytes(), &given); err != nil {
		fail(err)
	}
	machines := map[string]ec2types.InstanceTypeInfo{}
	for _, info := range given.Machines {
		machines[string(info.InstanceType)] = info
	}
	for lines.Scan() {
		var asked question
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			fail(err)
		}
		if err := out.Encode(answered(given.Region, machines, asked)); err != nil {
			fail(err)
		}
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func answered(region string, machines map[string]ec2types.InstanceTypeInfo, asked question) (told answer) {
	defer func() {
		if problem := recover(); problem != nil {
			told.Error = fmt.Sprint(problem)
		}
	}()
	ctx := options.ToContext(context.Background(), &options.Options{
		ClusterName:             asked.Settings.ClusterName,
		ClusterEndpoint:         asked.Settings.ClusterEndpoint,
		VMMemoryOverheadPercent: asked.Settings.VMMemoryOverheadPercent,
		ReservedENIs:            asked.Settings.ReservedENIs,
	})
	ctx = (&coreoptions.Options{
		FeatureGates: coreoptions.FeatureGates{ReservedCapacity: asked.Settings.ReservedCapacity},
	}).ToContext(ctx)
	caBundle := asked.CABundle
	told.Hash = asked.NodeClass.Hash(&caBundle)
	told.HashVersion = awsv1.EC2NodeClassHashVersion
	told.Types = map[string]typeAnswer{}
	resolver := instancetype.NewDefaultResolver(region)
	var types []*cloudprovider.InstanceType
	for _, name := range asked.InstanceTypes {
		resolved := resolver.Resolve(ctx, machines[name], asked.Zones, &asked.NodeClass)
		types = append(types, resolved)
		told.Types[name] = typeAnswer{
			Requirements:      stated(resolved),
			Capacity:          written(resolved.Capacity),
			KubeReserved:      written(resolved.Overhead.KubeReserved),
			SystemReserved:    written(resolved.Overhead.SystemReserved),
			EvictionThreshold: written(resolved.Overhead.EvictionThreshold),
		}
	}
	if asked.NodeClaim != nil {
		templates, err := launchTemplates(ctx, region, asked, types)
		told.Templates = templates
		if err != nil {
			told.Error = err.Error()
		}
	}
	return told
}

func stated(instanceType *cloudprovider.InstanceType) map[string]requirement {
	all := map[string]requirement{}
	for key, each := range instanceType.Requirements {
		values := each.Values()
		sort.Strings(values)
		all[key] = requirement{Operator: string(each.Operator()), Values: values}
	}
	return all
}

func written(amounts corev1.ResourceList) map[string]string {
	all := map[string]string{}
	for name, amount := range amounts {
		if !amount.IsZero() {
			all[string(name)] = amount.String()
		}
	}
	return all
}

func launchTemplates(ctx context.Context, region string, asked question, types []*cloudprovider.InstanceType) ([]templateAnswer, error) {
	class := &asked.NodeClass
	labels := launchtemplate.InjectDoNotSyncTaintsLabel(class.AMIFamily(), asked.Labels)
	given := &amifamily.Options{
		ClusterName:               asked.Settings.ClusterName,
		ClusterEndpoint:           asked.Settings.ClusterEndpoint,
		InstanceProfile:           class.Status.InstanceProfile,
		CABundle:                  &asked.CABundle,
		InstanceStorePolicy:       class.Spec.InstanceStorePolicy,
		AMISelectorTerms:          class.Spec.AMISelectorTerms,
		AMIs:                      class.Status.AMIs,
		SecurityGroups:            class.Status.SecurityGroups,
		Tags:                      asked.Tags,
		Labels:                    labels,
		KubeDNSIP:                 net.ParseIP(asked.DNSIP),
		AssociatePublicIPAddress:  class.Spec.AssociatePublicIPAddress,
		IPPrefixCount:             class.Spec.IPPrefixCount,
		NodeClassName:             class.Name,
		ResolvedNetworkInterfaces: amifamily.ResolveNetworkInterfaces(class.Spec.NetworkInterfaces),
	}
	if asked.ClusterCIDR != "" {
		given.ClusterCIDR = &asked.ClusterCIDR
	}
	resolved, err := amifamily.NewDefaultResolver(region).Resolve(class, asked.NodeClaim, types, asked.CapacityType, asked.Tenancy, given, "", 0)
	if err != nil {
		return nil, err
	}
	var all []templateAnswer
	for _, template := range resolved {
		encoded, err := template.UserData.Script(ctx)
		if err != nil {
			return nil, err
		}
		text, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			return nil, err
		}
		told := templateAnswer{
			Name:     launchtemplate.LaunchTemplateName(template),
			ImageID:  template.AMIID,
			UserData: string(text),
			Input:    launchtemplate.NewCreateLaunchTemplateInputBuilder(template, corev1.IPFamily(asked.IPFamily), encoded).Build(ctx),
		}
		for _, each := range template.InstanceTypes {
			told.InstanceTypes = append(told.InstanceTypes, each.Name)
		}
		sort.Strings(told.InstanceTypes)
		all = append(all, told)
	}
	return all, nil
}
