import com.alibaba.nacos.NacosServerBasicApplication;
import com.alibaba.nacos.NacosServerWebApplication;
import com.alibaba.nacos.core.listener.startup.NacosStartUp;
import com.alibaba.nacos.core.listener.startup.NacosStartUpManager;
import com.alibaba.nacos.sys.env.Constants;
import com.alibaba.nacos.sys.env.DeploymentType;
import com.alibaba.nacos.sys.env.EnvUtil;
import com.alipay.sofa.jraft.Node;
import com.alipay.sofa.jraft.NodeManager;
import com.alipay.sofa.jraft.RouteTable;
import com.alipay.sofa.jraft.entity.PeerId;
import java.util.List;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;

/**
 * Starts what Nacos' own main class starts, which is in no jar that can be had, without its console.
 *
 * <p>A server reads the configuration before it serves, and ends itself if it was elected to follow a moment ago: it looks
 * for the leader in a table that it fills every few seconds. Until it serves, the table is kept up to date here.
 * Where that does not help, since there is no leader any more, it ends with 75.
 *
 * <p>With the property {@code chaos.once} it ends once it serves, which leaves an archive of the classes that it used.
 */
public final class NacosNode {
  private static final String GROUP = "nacos_config";
  private static final long EVERY_MS = 20;
  private static final int ENDED_BEFORE_IT_SERVED = 75; // whoever started it starts it again
  private static volatile boolean serves;

  public static void main(String[] arguments) {
    try {
      serve(arguments);
    } catch (Throwable error) {
      error.printStackTrace();
      System.exit(ENDED_BEFORE_IT_SERVED);
    }
    serves = true;
    if (Boolean.getBoolean("chaos.once")) {
      System.exit(0);
    }
  }

  private static void serve(String[] arguments) throws Exception {
    EnvUtil.setDeploymentType(DeploymentType.getType(Constants.NACOS_DEPLOYMENT_TYPE_SERVER));
    Thread table = new Thread(NacosNode::keepUpToDate, "leader-until-served");
    table.setDaemon(true);
    table.start();
    NacosStartUpManager.start(NacosStartUp.CORE_START_UP_PHASE);
    ConfigurableApplicationContext core =
        new SpringApplicationBuilder(NacosServerBasicApplication.class).web(WebApplicationType.NONE).run(arguments);
    NacosStartUpManager.start(NacosStartUp.WEB_START_UP_PHASE);
    new SpringApplicationBuilder(NacosServerWebApplication.class).parent(core).run(arguments);
  }

  private static void keepUpToDate() {
    while (!serves) {
      List<Node> nodes = NodeManager.getInstance().getNodesByGroupId(GROUP); // null before the group is there
      for (Node node : nodes == null ? List.<Node>of() : nodes) {
        PeerId leader = node.getLeaderId();
        if (leader != null && !leader.isEmpty()) {
          RouteTable.getInstance().updateLeader(GROUP, leader);
        }
      }
      try {
        Thread.sleep(EVERY_MS);
      } catch (InterruptedException ended) {
        return;
      }
    }
  }
}
