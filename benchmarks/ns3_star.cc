/* ns-3's star as a peer of `bench_hops`: hosts around a router send to their next neighbour, as hosts of a ring do.
 *
 *     ns3_star udp|tcp HOSTS BYTES LOSS
 *
 * 10 Gbit/s links of 1 us, packets with 1,024 bytes of payload, queues of 4,096 packets; each link loses that share of its
 * frames, both ways. Prints hops (frames that came to the end of a wire, or were lost there) and CPU seconds of the
 * simulation without its set-up. */
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"

using namespace ns3;

static uint64_t hops;
static uint64_t delivered;

static void Hop(Ptr<const Packet>)
{
    hops++;
}

int main(int argc, char **argv)
{
    if (argc != 5)
        return 64;
    const bool udp = std::string(argv[1]) == "udp";
    const uint32_t hosts = std::atoi(argv[2]);
    const uint64_t bytes = std::strtoull(argv[3], nullptr, 10);
    const double loss = std::atof(argv[4]);
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1024));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(1 << 20));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(1 << 20));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(1)));
    Config::SetDefault("ns3::DropTailQueue<Packet>::MaxSize", QueueSizeValue(QueueSize("4096p")));

    NodeContainer leaves, centre;
    leaves.Create(hosts);
    centre.Create(1);
    InternetStackHelper stack;
    stack.Install(leaves);
    stack.Install(centre);
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue("10Gbps"));
    link.SetChannelAttribute("Delay", StringValue("1us"));
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
    std::vector<Ipv4Address> own;
    for (uint32_t host = 0; host < hosts; host++) {
        NetDeviceContainer ends = link.Install(leaves.Get(host), centre.Get(0));
        for (uint32_t end = 0; end < 2; end++) {
            Ptr<PointToPointNetDevice> device = DynamicCast<PointToPointNetDevice>(ends.Get(end));
            if (loss > 0) {
                Ptr<RateErrorModel> model = CreateObject<RateErrorModel>();
                model->SetUnit(RateErrorModel::ERROR_UNIT_PACKET);
                model->SetRate(loss);
                device->SetReceiveErrorModel(model);
            }
            device->TraceConnectWithoutContext("PhyRxEnd", MakeCallback(&Hop));
            device->TraceConnectWithoutContext("PhyRxDrop", MakeCallback(&Hop));
        }
        own.push_back(addresses.Assign(ends).GetAddress(0));
        addresses.NewNetwork();
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();
    const std::string kind = udp ? "ns3::UdpSocketFactory" : "ns3::TcpSocketFactory";
    for (uint32_t host = 0; host < hosts; host++) {
        InetSocketAddress peer(own[(host + 1) % hosts], 9);
        PacketSinkHelper sink(kind, InetSocketAddress(Ipv4Address::GetAny(), 9));
        ApplicationContainer receiver = sink.Install(leaves.Get(host));
        receiver.Start(Seconds(0));
        ApplicationContainer sender;
        if (udp) {
            OnOffHelper source(kind, peer);
            source.SetConstantRate(DataRate("9Gbps"), 1024);
            source.SetAttribute("MaxBytes", UintegerValue(bytes));
            sender = source.Install(leaves.Get(host));
        } else {
            BulkSendHelper source(kind, peer);
            source.SetAttribute("MaxBytes", UintegerValue(bytes));
            source.SetAttribute("SendSize", UintegerValue(1024));
            sender = source.Install(leaves.Get(host));
        }
        sender.Start(MilliSeconds(1));
    }
    Simulator::Stop(Seconds(60));
    const std::clock_t begun = std::clock();
    Simulator::Run();
    const double took = double(std::clock() - begun) / CLOCKS_PER_SEC;
    for (uint32_t host = 0; host < hosts; host++)
        delivered += DynamicCast<PacketSink>(leaves.Get(host)->GetApplication(0))->GetTotalRx();
    Simulator::Destroy();
    std::printf("{\"hops\": %llu, \"seconds\": %.6f, \"delivered\": %llu}\n", (unsigned long long)hops, took,
                (unsigned long long)delivered);
    return 0;
}
